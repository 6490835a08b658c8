"""Which keys are accepted or rejected without a person: Salt's autosign options, and enrolment tokens."""
