// Package operator writes the manifests that install an operator from a mirror, with the fewest permissions that OLM v1
// needs, and checks what an account may do.
//
// The three main types:
//
//   - InstallOptions say which package, channel and version, for which generation of OLM.
//   - Install has the manifests, and what they assume.
//   - Access compares roles with what an operator needs.
//
// Operators are read from a mirror, an archive, a layout or a catalog. Permissions come from the bundle and
// the rules of operator-controller.
//
// Manifests and permissions are made in catalog/install and rbac. This package connects to no cluster.
//
// Start with NewInstall in operatorinstall.go.
package operator
