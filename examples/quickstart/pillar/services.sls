services:
  ssh: 22
  metrics: 9100
