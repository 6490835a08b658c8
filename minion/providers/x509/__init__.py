"""X.509: keys, certificates, requests and revocation lists, on the library cryptography.

The states and functions `x509` import these modules when they are called: the library takes 8 MiB.
"""
