"""The execution module `mysql`, by what its functions are about."""
