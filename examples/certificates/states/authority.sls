{% set pki = grains.get('root', '') ~ '/etc/pki' %}

{{ pki }}/ca.key:
  x509.private_key_managed:
    - algo: ec
    - makedirs: true

{{ pki }}/ca.crt:
  x509.certificate_managed:
    - signing_private_key: {{ pki }}/ca.key
    - CN: Example CA
    - basicConstraints: critical, CA:true
    - keyUsage: critical, keyCertSign, cRLSign
    - subjectKeyIdentifier: hash
    - days_valid: 3650

{{ pki }}/issued:
  file.directory:
    - makedirs: true
