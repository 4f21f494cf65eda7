package main

import (
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/env"
)

// readFlags are those of verbs that only read catalogs.
type readFlags struct {
	registryFlags
	workspace string
}

func (f *readFlags) addFlags(fs *pflag.FlagSet) {
	f.registryFlags.addSourceFlags(fs)
	f.addCacheDir(fs)
	fs.StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder whose cache is used, if it exists")
}
