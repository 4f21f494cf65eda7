package registries

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxFile limits the size of one file, in bytes.
const maxFile = 4 << 20

// Options are where Load looks. The zero value looks where podman does.
type Options struct {
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Home is the user's home folder; "" means os.UserHomeDir.
	Home string
	// SystemDir is the folder of the system's registries.conf and
	// registries.conf.d; "" means /etc/containers.
	SystemDir string
	// Log receives warnings about unknown keys; nil means none.
	Log *slog.Logger
}

// Load reads registries.conf and its drop-ins. None need to exist, except for a file named by
// $CONTAINERS_REGISTRIES_CONF.
func Load(o Options) (*Config, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Home == "" {
		// Without a home folder, there are no files below it.
		o.Home, _ = os.UserHomeDir()
	}
	o.SystemDir = cmp.Or(o.SystemDir, filepath.Join("/etc", "containers"))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	c := &Config{}
	for _, f := range files {
		entries, err := f.read(o.Log)
		if err != nil {
			return nil, err
		}
		c.merge(entries)
	}
	return c, nil
}

// Parse reads the text of one registries.conf or drop-in. name is for messages.
func Parse(name string, text []byte) (*Config, error) {
	entries, _, err := read(name, text)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	c.merge(entries)
	return c, nil
}

// A configFile is one file of the configuration.
type configFile struct {
	path     string
	required string // the variable that names it; "" if it need not exist
}

// files returns the files of the configuration; later ones override earlier ones.
func (o Options) files() ([]configFile, error) {
	system := filepath.Join(o.SystemDir, "registries.conf")
	user := ""
	if o.Home != "" {
		user = filepath.Join(o.Home, ".config", "containers", "registries.conf")
	}
	list := []configFile{{path: system}}
	dirs := []string{system + ".d"}
	if named := o.Getenv("CONTAINERS_REGISTRIES_CONF"); named != "" {
		list = []configFile{{path: named, required: "$CONTAINERS_REGISTRIES_CONF"}}
	} else if user != "" {
		if _, err := os.Stat(user); err == nil {
			// The user's own file replaces all files of the system.
			list, dirs = []configFile{{path: user}}, nil
		}
	}
	if user != "" {
		dirs = append(dirs, user+".d")
	}
	for _, dir := range dirs {
		found, err := os.ReadDir(dir) // sorted by name
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading drop-ins of registries.conf: %w", err)
		}
		for _, e := range found {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".conf") {
				list = append(list, configFile{path: filepath.Join(dir, e.Name())})
			}
		}
	}
	return list, nil
}

func (s configFile) read(log *slog.Logger) ([]entry, error) {
	f, err := regular.OpenInput(s.path)
	if errors.Is(err, fs.ErrNotExist) && s.required == "" {
		return nil, nil
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, s.wrap(err)
	}
	if len(data) > maxFile {
		return nil, s.wrap(fmt.Errorf("%s is larger than %d bytes", s.path, maxFile))
	}
	entries, unknown, err := read(s.path, data)
	if err != nil {
		return nil, s.wrap(err)
	}
	for _, key := range unknown {
		log.Warn("an unknown key has no effect", "file", s.path, "key", key)
	}
	return entries, nil
}

func (s configFile) wrap(err error) error {
	if s.required != "" {
		return fmt.Errorf("reading the file that %s names: %w", s.required, err)
	}
	return fmt.Errorf("reading registries.conf: %w", err)
}

// merge adds entries; one with a known prefix replaces the old one.
func (c *Config) merge(entries []entry) {
	for _, e := range entries {
		if at := slices.IndexFunc(c.entries, e.samePrefix); at >= 0 {
			c.entries[at] = e
		} else {
			c.entries = append(c.entries, e)
		}
	}
}
