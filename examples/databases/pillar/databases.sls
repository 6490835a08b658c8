apps:
  shop:
    password: change-me
    file: /var/lib/shop.sqlite
    settings:
      theme: dark
      page_size: 50
    retired:
      - shop:banner
    jobs:
      report: 4
