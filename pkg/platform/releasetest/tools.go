package releasetest

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// ToolComponents returns the components with the programs that administrators use.
func ToolComponents() []string {
	return []string{"baremetal-installer", "cli", "cli-artifacts", "cloud-credential-operator", "installer", "installer-artifacts", "oc-mirror"}
}

// placeholder is a place in a program for an image, a version, an architecture.
func placeholder(name string, room int) string {
	return "\x00_RELEASE_" + name + "_LOCATION_\x00" + strings.Repeat("X", room) + "\x00"
}

// program returns a program with placeholders. It is a script that prints them, one text in a line.
func program(name string, placeholders ...string) []byte {
	return []byte("#!/bin/sh\necho " + name + "\nsed '1,/^exit$/d' \"$0\" | tr '\\000' '\\n'\nexit\n" + strings.Join(placeholders, "\n"))
}

// tools returns the programs in a component, below the folders that they are in.
func tools(component string, arch release.Arch) []registrytest.File {
	version := placeholder("VERSION", 64)
	all := []string{placeholder("IMAGE", 300), version, placeholder("ARCHITECTURE", 64)}
	var files []registrytest.File
	folders := map[string]bool{}
	add := func(path string, placeholders ...string) {
		for i, r := range path {
			if r == '/' && !folders[path[:i+1]] {
				folders[path[:i+1]] = true
				files = append(files, registrytest.File{Name: path[:i+1]})
			}
		}
		files = append(files, registrytest.File{Name: path, Data: program(component+" "+string(arch)+" "+path, placeholders...), Mode: 0o755})
	}
	const others = "usr/share/openshift/"
	switch component {
	case "cli":
		add("usr/bin/oc", version)
	case "cli-artifacts":
		for _, dir := range []string{"linux_amd64", "linux_arm64", "linux_ppc64le", "linux_s390x", "mac", "mac_arm64"} {
			add(others+dir+"/oc", version)
		}
		add(others+"windows/oc.exe", version)
	case "installer", "baremetal-installer":
		add("usr/bin/openshift-install", all...)
	case "installer-artifacts":
		for _, dir := range []string{"linux_amd64", "linux_arm64", "mac", "mac_arm64"} {
			add(others+dir+"/openshift-install", all...)
		}
	case "oc-mirror":
		add("usr/bin/oc-mirror")
	case "cloud-credential-operator":
		add("usr/bin/ccoctl")
	}
	return files
}
