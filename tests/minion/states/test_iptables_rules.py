"""Rules of iptables as text; what each must be is recorded from Salt's `iptables.build_rule`."""

import pytest

from minion.machine.failure import StateFailed
from minion.states.iptables.rule import rule_text
from minion.states.iptables.tables import parsed

RECORDED = [
    (
        {"match": "state", "connstate": "RELATED,ESTABLISHED", "jump": "ACCEPT"},
        "-m state --state RELATED,ESTABLISHED --jump ACCEPT",
    ),
    (
        {"protocol": "tcp", "dport": 80, "sport": "1025:65535", "jump": "ACCEPT"},
        "-p tcp --dport 80 --sport 1025:65535 --jump ACCEPT",
    ),
    ({"proto": "!udp", "dports": [80, 443], "jump": "DROP"}, "! -p udp -m multiport --dports 80,443 --jump DROP"),
    (
        {"protocol": "tcp", "dports": ["!80", "443"], "jump": "DROP"},
        "-p tcp -m multiport ! --dports 80,443 --jump DROP",
    ),
    ({"protocol": "tcp", "sports": "not 80,443", "jump": "DROP"}, "-p tcp -m multiport ! --sports 80,443 --jump DROP"),
    (
        {"source": "! 127.0.0.1", "destination": "not 10.0.0.1", "if": "!eth0", "of": "lo", "j": "ACCEPT"},
        "! -i eth0 -o lo ! --source 127.0.0.1 ! --destination 10.0.0.1 --j ACCEPT",
    ),
    (
        {"match": ["recent", "comment"], "name_": "ssh", "comment": "a b", "rcheck": "", "target": "DROP"},
        '-m recent --name ssh -m comment --comment "a b" --rcheck --jump DROP',
    ),
    (
        {"match": "policy", "dir": "in", "pol": "ipsec", "reqid": 1, "proto": "esp", "jump": "ACCEPT"},
        "-m policy --proto esp --dir in --pol ipsec --reqid 1 --jump ACCEPT",
    ),
    (
        {"match-set": ["one src", "!two dst"], "jump": "ACCEPT"},
        "-m set --match-set one src -m set ! --match-set two dst --jump ACCEPT",
    ),
    (
        {"match-set": "one src", "set": "!three src", "jump": "ACCEPT"},
        "-m set --match-set one src ! --match-set three src --jump ACCEPT",
    ),
    (
        {"jump": "LOG", "log-prefix": "a: ", "log-level": 4, "match": "limit", "limit": "5/min", "limit-burst": 7},
        '-m limit --limit 5/min --limit-burst 7 --jump LOG --log-level 4 --log-prefix "a: "',
    ),
    (
        {
            "protocol": "tcp",
            "jump": "REJECT",
            "reject-with": "tcp-reset",
            "position": 2,
            "save": True,
            "table": "nat",
            "chain": "X",
        },
        "-p tcp --jump REJECT --reject-with tcp-reset",
    ),
    (
        {
            "table": "nat",
            "protocol": "tcp",
            "jump": "DNAT",
            "to-destination": "10.0.0.1:80",
            "random": None,
            "tcp-flags": "!SYN,ACK SYN",
        },
        "-p tcp ! --tcp-flags SYN,ACK SYN --jump DNAT --random --to-destination 10.0.0.1:80",
    ),
    ({"jump": "CT", "notrack": "", "p": "tcp"}, "-p tcp --jump CT --notrack"),
    (
        {
            "connstate": "!NEW",
            "match": "conntrack",
            "ctstate": "not NEW",
            "jump": "SET",
            "add-set": "bad src",
            "exist": "",
        },
        '-m conntrack -m state ! --state NEW ! --ctstate NEW --jump SET --add-set "bad src" --exist',
    ),
    (
        {"in-interface": "eth0", "out-interface": "!eth1", "jump": "MASQUERADE"},
        "--in-interface eth0 ! --out-interface eth1 --jump MASQUERADE",
    ),
]


@pytest.mark.parametrize(("options", "text"), RECORDED)
def test_a_rule_is_written_as_salt_writes_it(options, text):
    assert rule_text(options) == text


def test_quotes_in_a_text_are_its_own():
    assert rule_text({"comment": 'say "no"', "jump": "ACCEPT"}) == '-m comment --comment "say \\"no\\"" --jump ACCEPT'


def test_ports_without_a_protocol():
    with pytest.raises(StateFailed, match="protocol must be specified"):
        rule_text({"dports": [80]})


def test_what_iptables_save_writes_is_read():
    text = """# Generated
*nat
:PREROUTING ACCEPT [12:345]
:MINE - [0:0]
-A PREROUTING ! -s 10.0.0.0/8 -p tcp -m tcp --dport 80 -m comment --comment "to mine" -j MINE
-A MINE -m set ! --match-set bad src -j DNAT --to-destination 10.0.0.1:80 --random
COMMIT
"""
    chains = parsed(text)["nat"]
    assert (chains["PREROUTING"]["policy"], chains["PREROUTING"]["packet count"]) == ("ACCEPT", "12")
    assert (chains["PREROUTING"]["byte count"], chains["MINE"]["policy"]) == ("345", "-")
    assert chains["PREROUTING"]["rules"] == [
        {
            "source": ["! 10.0.0.0/8"],
            "protocol": ["tcp"],
            "match": ["tcp", "comment"],
            "destination_port": ["80"],
            "comment": ["to mine"],
            "jump": ["MINE"],
        }
    ]
    assert chains["MINE"]["rules"][0]["match-set"] == ["! bad src"]
    assert chains["MINE"]["rules"][0]["random"] == [""]
