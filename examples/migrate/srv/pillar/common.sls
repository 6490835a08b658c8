owner: operations
deploy_password: '$6$salt$e0hq5Gp3GSDwVJFhsXM2QVg7'
