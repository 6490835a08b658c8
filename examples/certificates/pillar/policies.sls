{% set pki = grains.get('root', '') ~ '/etc/pki' %}
x509_signing_policies:
  web:
    - minions: 'web*'
    - signing_private_key: {{ pki }}/ca.key
    - signing_cert: {{ pki }}/ca.crt
    - O: Example
    - basicConstraints: critical, CA:false
    - keyUsage: critical, digitalSignature
    - extendedKeyUsage: serverAuth
    - subjectKeyIdentifier: hash
    - authorityKeyIdentifier: keyid
    - days_valid: 90
    - copypath: {{ pki }}/issued
