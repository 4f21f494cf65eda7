package env

import (
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// ReadLimited reads a file that has at most limit bytes.
func ReadLimited(name string, limit int64) ([]byte, error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d MiB", name, limit>>20)
	}
	return text, err
}

// MaxPassword is the maximum size of a password, in bytes. Some are tokens.
const MaxPassword = 64 << 10
