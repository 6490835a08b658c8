# What the packages of a relay do once their files are there. Run by root, on Debian and on systems with RPM.
make_user_and_folders() {
    getent group saltern-relay >/dev/null || groupadd --system saltern-relay
    getent passwd saltern-relay >/dev/null ||
        useradd --system --gid saltern-relay --home-dir / --no-create-home --shell /usr/sbin/nologin saltern-relay
    install -d -m 0755 /etc/saltern /etc/saltern/pki
    install -d -m 0700 -o saltern-relay -g saltern-relay /etc/saltern/pki/relay
}
