motd:
  stage: PRODUCTION
