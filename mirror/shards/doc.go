// Package shards writes the Kubernetes Jobs that copy the shards of a plan on several nodes.
//
//   - KubernetesJob returns the manifests: an indexed Job for the shards, and a Job that finishes.
//   - KubernetesJobOptions name the plan, the image with gantry, secrets, and the number of shards.
//
// Hosts coordinate through the registry alone: each shard leaves its result there, and the last Job
// publishes what shards do not.
//
// The YAML is made in resources/shardjob. Copying a shard is a run of package mirroring. This package
// connects to nothing.
//
// Start with KubernetesJob in kubernetesjob.go.
package shards
