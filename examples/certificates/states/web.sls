{% set pki = grains.get('root', '') ~ '/etc/pki' %}

{{ pki }}/www.key:
  x509.private_key_managed:
    - algo: ec
    - makedirs: true

{{ pki }}/www.crt:
  x509.certificate_managed:
    - ca_server: ca
    - signing_policy: web
    - private_key: {{ pki }}/www.key
    - CN: {{ grains.id }}.example.com
    - subjectAltName: DNS:{{ grains.id }}.example.com
    - days_remaining: 30

restart the web server:
  test.show_notification:
    - text: A new certificate is there.
    - onchanges:
      - x509: {{ pki }}/www.crt
