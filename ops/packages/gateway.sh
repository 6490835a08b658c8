# What the packages of a gateway do once their files are there. Run by root, on Debian and on systems with RPM.
make_user_and_folders() {
    getent group saltern-gateway >/dev/null || groupadd --system saltern-gateway
    getent passwd saltern-gateway >/dev/null ||
        useradd --system --gid saltern-gateway --home-dir / --no-create-home --shell /usr/sbin/nologin saltern-gateway
    install -d -m 0755 /etc/saltern /etc/saltern/pki
    install -d -m 0700 -o saltern-gateway -g saltern-gateway /etc/saltern/pki/gateway
    install -d -m 0755 /var/cache/saltern
    install -d -m 0700 -o saltern-gateway -g saltern-gateway /var/cache/saltern/gateway
}
