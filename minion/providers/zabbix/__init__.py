"""The API of a Zabbix frontend."""
