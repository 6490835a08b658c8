"""The execution module `zabbix`."""
