"""States of Zabbix."""
