package main

import "github.com/spf13/pflag"

// selectFlags are the flags that select content: a configuration, and additions to it on the
// command line.
type selectFlags struct {
	config       string
	installed    []string
	dependencies bool
}

// addFlags adds the flags. purpose completes the help of --installed: most commands keep the
// upgrade paths, some only check them.
func (s *selectFlags) addFlags(f *pflag.FlagSet, purpose string) {
	f.StringVarP(&s.config, "config", "c", "", "ImageSetConfiguration to read")
	repeatable(f, &s.installed, "installed", "file with what a cluster runs: output of oc get csv, subscription, clusterextension, clusterversion, operatorcondition or clusteroperator -A -o json; "+purpose+" (may be repeated)")
	f.BoolVar(&s.dependencies, "dependencies", false, "add the operators that the selected ones require, like dependencies: true in each catalog")
}

// pathsKept is the purpose of --installed for commands that select content with it.
const pathsKept = "upgrade paths from there are kept"
