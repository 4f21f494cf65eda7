package site

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
)

// String returns docker://HOST[/PREFIX].
func (t *RegistryDestination) String() string {
	return env.RegistryScheme + strings.TrimSuffix(t.Host+"/"+t.Prefix, "/")
}
