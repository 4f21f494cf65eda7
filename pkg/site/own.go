package site

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/pkg/state/shard"
)

// IsOwn reports whether a repository of a registry is one that Gantry has for itself, at any prefix
// (mirror.RegistryPath.OwnRepository).
func IsOwn(path string) bool {
	return slices.ContainsFunc([]string{setrecord.Repository, LeaseRepository, shard.Repository}, func(name string) bool {
		return path == "gantry/"+name || path == "gantry-"+name || strings.HasSuffix(path, "/gantry-"+name)
	})
}
