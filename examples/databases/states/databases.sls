{% for name, app in pillar['apps'].items() %}
{{ name }} database:
  mysql_database.present:
    - name: {{ name }}
    - character_set: utf8mb4

{{ name }} user:
  mysql_user.present:
    - name: {{ name }}
    - host: localhost
    - password: {{ app['password'] | yaml_dquote }}

{{ name }} grants:
  mysql_grants.present:
    - grant: select, insert, update, delete
    - database: {{ name }}.*
    - user: {{ name }}
    - require:
      - mysql_database: {{ name }} database
      - mysql_user: {{ name }} user

{% for key, value in app.get('settings', {}).items() %}
{{ name }}:{{ key }}:
  redis.string:
    - value: {{ value | yaml_dquote }}
{% endfor %}

{{ name }} retired settings:
  redis.absent:
    - keys: {{ app.get('retired', []) | json }}

{{ name }}_jobs:
  sqlite3.table_present:
    - db: {{ app['file'] }}
    - schema:
      - name TEXT PRIMARY KEY
      - hour INTEGER NOT NULL

{% for job, hour in app.get('jobs', {}).items() %}
{{ name }} {{ job }}:
  sqlite3.row_present:
    - db: {{ app['file'] }}
    - table: {{ name }}_jobs
    - where_sql: name = ?
    - where_args: [{{ job }}]
    - data: {name: {{ job }}, hour: {{ hour }}}
    - update: True
    - require:
      - sqlite3: {{ name }}_jobs
{% endfor %}
{% endfor %}
