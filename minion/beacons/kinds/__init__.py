"""The beacons that are built in, one module a beacon or a family; the registry imports those that are configured."""
