# What the packages of a controller do once their files are there. Run by root, on Debian and on systems with RPM.
make_user_and_folders() {
    getent group saltern >/dev/null || groupadd --system saltern
    getent passwd saltern >/dev/null ||
        useradd --system --gid saltern --home-dir /var/lib/saltern --no-create-home --shell /usr/sbin/nologin saltern
    install -d -m 0755 /etc/saltern /etc/saltern/pki /var/cache/saltern
    install -d -m 0700 -o saltern -g saltern /etc/saltern/pki/controller /var/lib/saltern /var/cache/saltern/controller
}
