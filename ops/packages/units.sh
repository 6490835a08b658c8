# Units of systemd, where it runs. A package starts nothing by itself: there is no configuration yet (`saltern init`).
units_changed() {
    [ ! -d /run/systemd/system ] || systemctl daemon-reload
}
restart_unit() {
    [ ! -d /run/systemd/system ] || systemctl try-restart "$1"
}
stop_unit() {
    if [ -d /run/systemd/system ]; then
        systemctl disable --now "$1"
    else
        rm -f "/etc/systemd/system/multi-user.target.wants/$1"
    fi
}
