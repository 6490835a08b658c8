# A disk that is fuller than its beacon allows: a channel reads of it, and where it is nearly full somebody is paged.
channel:
  notify.slack:
    - title: {{ data['id'] | tojson }}
    - text: {{ ('The disk at ' ~ data['mount'] ~ ' is ' ~ data['diskusage'] ~ ' % full.') | tojson }}
{% if data['diskusage'] >= 95 %}
pager:
  notify.webhook:
    - profile: pager
    - text: {{ (data['id'] ~ ': ' ~ data['mount'] ~ ' is full') | tojson }}
{% endif %}
