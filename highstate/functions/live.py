"""Names of Salt's execution modules that ask the machine they run on, so that errors can say so."""

from __future__ import annotations

_NAMES = """
    acl acme aliases alternatives ansiblegate apache aptpkg archive artifactory at augeas aws_sqs bcache beacons
    bigip boto_ec2 bridge btrfs cabal cassandra_cql chocolatey chronos cloud cmd composer consul
    container_resource cpan cron cryptdev csf cyg daemontools data ddns debconf debuild_pkgbuild devmap dig disk
    djangomod dnsmasq dnsutil docker dockercompose dockermod drac drbd ebuildpkg elasticsearch etcd ethtool
    event extfs file firewalld flatpak freezer gem genesis git glusterfs gpg group grub_legacy haproxyconn helm hg
    highstate_doc host http icinga2 idem incron influxdb ini inspector introspect iosconfig ip ipmi ipset iptables
    iwtools jboss7 jenkinsmod jinja_filter k8s kapacitor kernelpkg key keyboard keystone kmod kubernetes kubernetesmod
    launchctl ldap3 libcloud_dns linux_acl linux_ip linux_lvm linux_sysctl locale locate logadm logrotate lvm
    lvs lxc lxd macpackage makeconf mandrill mattermost mdadm memcached mine minion mod_random modjk mongodb
    monit moosefs mount mssql munin mysql nagios napalm netaddress network neutron nfs3 nftables nginx nix node
    npm nspawn ntp nxos openscap openstack_config openstack_mng opkg opsgenie oracle out pacman pagerduty pam
    parallels parted partition pcs pdbedit pecl pf pip pkg pkgin pkgng portage postfix postgres poudriere
    powerpath ps publish puppet pushover pw_user pyenv qemu_img quota rabbitmq raet_publish raid random
    random_org rbenv rdp redis reg rest rpm rpmbuild rsync runit rvm s3 s6 salt_proxy saltcheck saltutil
    schedule scp scsi sdb seed selinux sensors serverdensity service shadow slack smbios smf smtp snap snapper
    solr sqlite3 ssh state status statuspage supervisord suse_apache svn swift sysbench sysfs syslog_ng sysmod
    sysrc system systemd_service telegram temp timezone tls tomcat trafficserver travisci tuned twilio_notify
    udev ufw uptime user useradd uwsgi vagrant vault virt virtualenv vmctl vsphere webutil winrepo wordpress
    x509 xapi xfs xmpp yumpkg zabbix zcbuildout zfs zookeeper zpool zypperpkg
"""

LIVE_MODULES = frozenset(_NAMES.split())

OF_THE_FLEET = ("mine.get", "saltutil.runner", "sdb.get")
"""Functions that the controller answers, because it knows all minions."""

_FUNCTIONS = """
    cp.cache_dir cp.cache_file cp.cache_files cp.cache_local_file cp.cache_master cp.get_dir cp.get_file cp.get_template
    cp.get_url cp.is_cached cp.push cp.push_dir cp.recv cp.stat_file hashutil.base64_decodefile
    hashutil.base64_encodefile hashutil.digest_file hashutil.github_signature pillar.ext pillar.show_top
    sys.list_functions sys.list_modules sys.doc test.get_opts test.provider test.providers test.random_hash test.version
    test.versions_information test.versions_report config.gather_bootstrap_script config.manage_mode grains.setval
    grains.set grains.setvals grains.append grains.remove grains.delkey grains.delval
"""

LIVE_FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Functions of modules whose other functions are here."""
