# /etc/gantry/policy/plan.rego
package main

deny contains msg if {
  input.totals.bytes > 500 * 1024 * 1024 * 1024
  msg := sprintf("the plan has %d bytes", [input.totals.bytes])
}

deny contains msg if {
  some image in input.images
  startswith(image.source, "docker.io/")
  msg := sprintf("%s is from docker.io", [image.source])
}
