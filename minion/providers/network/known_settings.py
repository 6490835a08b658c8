"""The names of all settings of an interface that a network manager takes: one of these on a system that has another
manager is passed over, as in Salt, so that one SLS fits all of them; any other name is an error."""

from __future__ import annotations

from collections.abc import Collection

from minion.machine.failure import StateFailed
from options.near_names import did_you_mean

_DEBIAN = """
    accept_ra address addresses autoconf bootfile broadcast client dad-attempts dad-interval dhcp dns dns-nameservers
    dns-search dns_nameservers dns_search dstaddr enable_ipv4 enable_ipv6 endpoint filename gateway hostname hotplug
    hwaddr hwaddress ipaddr ipaddrs leasehours leasetime local master media metric mode mtu netmask network options
    pointopoint ports preferred-lifetime privext proto provider scope search server slaves source ttl unit vendor
    vlan-raw-device vlan_raw_device
    up_cmds down_cmds pre_up_cmds post_up_cmds pre_down_cmds post_down_cmds
    wireless-essid wireless-mode wireless_mode wpa-ap-scan wpa-conf wpa-driver wpa-group wpa-key-mgmt wpa-pairwise
    wpa-proto wpa-psk wpa-roam wpa-ssid wpa_ap_scan wpa_conf wpa_driver wpa_group wpa_key_mgmt wpa_pairwise wpa_proto
    wpa_psk wpa_roam wpa_ssid
    ageing bridgeprio fd gcint hello hw maxage maxwait pathcost portprio stp waitport
    connect defaultroute hide-password holdoff lcp-echo-failure lcp-echo-interval linkname maxfail noaccomp noauth
    noipdefault password persist pppoe_iface usepeerdns user
"""
_BONDS = """
    ad_select arp_interval arp_ip_target downdelay hashing-algorithm lacp_rate max_bonds miimon primary tx_queues
    updelay use_carrier xmit_hash_policy
"""
_REDHAT = """
    advertise arpcheck bridge bypassfirewall channels clonenum_start defroute delay dhcpv6c domain ipaddr_end
    ipaddr_start ipv4_failure_fatal ipv6_autoconf ipv6_defroute ipv6_peerdns ipv6_peerroutes ipv6addrs macaddr
    my_inner_ipaddr my_outer_ipaddr nickname nm_controlled onboot onparent peerdns peerntp peerroutes phys_dev prefix
    reorder_hdr slave srcaddr team_config team_master team_port_config userctl uuid vlan vlan_id zone
"""
_BOTH = "addr autoneg duplex ethernet-port noifupdown speed wol rx tx sg tso ufo gso gro lro"
KNOWN = frozenset(f"{_DEBIAN} {_BONDS} {_REDHAT} {_BOTH}".split())


def check_names(names: Collection[str]) -> None:
    """StateFailed for a name that no network manager knows."""
    for name in sorted(names):
        bare = name[4:] if name.startswith(("ipv4", "ipv6")) else name
        if name not in KNOWN and bare not in KNOWN:
            hint = did_you_mean(name, KNOWN)
            raise StateFailed(f"there is no setting {name} of an interface{hint and f': {hint}'}")
