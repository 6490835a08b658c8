{% set shop = pillar['shop'] %}
shop:
  kubernetes.namespace_present:
    - metadata:
        labels: {team: shop}

login:
  kubernetes.secret_present:
    - namespace: shop
    - data:
        password: {{ shop['password'] | yaml_dquote }}
    - require:
      - kubernetes: shop

shop objects:
  kubernetes.manifest:
    - source: salt://shop/objects.yaml
    - template: jinja
    - template_context:
        tag: {{ shop['tag'] | yaml_dquote }}
        replicas: {{ shop['replicas'] }}
    - namespace: shop
    - require:
      - kubernetes: shop

{{ shop['node'] }}:
  kubernetes.node_label_present:
    - name: example.org/shop
    - node: {{ shop['node'] }}
    - value: front
