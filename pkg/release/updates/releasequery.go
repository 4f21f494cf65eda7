package updates

import (
	"regexp"
	"sync"
)

// MinorVersion matches a minor version, such as "4.20".
var MinorVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+$`) })
