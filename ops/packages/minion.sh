# What the packages of a minion do once their files are there. Run by root, on Debian and on systems with RPM.
make_user_and_folders() {
    install -d -m 0755 /etc/saltern /etc/saltern/pki /var/cache/saltern
    install -d -m 0700 /etc/saltern/pki/minion /var/cache/saltern/minion
}
