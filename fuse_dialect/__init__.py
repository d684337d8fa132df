"""Operator fusion for any xDSL or MLIR dialect: exactly TVM's partitions, explained."""
