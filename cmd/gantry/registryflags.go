package main

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// registryFlags are the flags for how registries are reached, for each side of a run.
type registryFlags struct {
	env.Registries
	cacheDir string // of verbs that have a cache
	renderer string // of verbs that plan
}

func (s *registryFlags) addFlags(f *pflag.FlagSet) {
	s.addSourceFlags(f)
	addSideFlags(f, &s.Destination, "dest", "destination")
}

// addSourceFlags adds the flags of verbs that only read.
func (s *registryFlags) addSourceFlags(f *pflag.FlagSet) {
	s.addFileFlags(f)
	number := func(s string) (int, error) { return wholeNumber(s, 1, 100, "use a number from 1 to 100") }
	parsedFlag(f, &s.ParallelImages, "parallel-images", "int", "", number, "maximum number of images at the same time (default: adapts to the registry)")
	parsedFlag(f, &s.ParallelLayers, "parallel-layers", "int", "", number, "maximum number of layers at the same time, per image (default: adapts to the registry)")
}

// addDestinationFlags adds the flags of verbs that use a mirror alone.
func (s *registryFlags) addDestinationFlags(f *pflag.FlagSet) {
	addSideFlags(f, &s.Destination, "dest", "destination")
	s.addRequestFlags(f)
}

// addFileFlags adds the flags of a verb that reads one file.
func (s *registryFlags) addFileFlags(f *pflag.FlagSet) {
	addSideFlags(f, &s.Source, "src", "source")
	parsedFlag(f, &s.Rate, "limit-rate", "string", "", optional(limits.ParseRate), "maximum bytes per second from all sources, and to the destination: 50MiB, 800KB, 2GB")
	parsedFlag(f, &s.MinRate, "min-rate", "string", "", parseMinRate, "bytes per second below which a request is ended and repeated; 0 for no minimum (default: 4KiB)")
	s.addRequestFlags(f)
}

// addRequestFlags adds the flags for all requests.
func (s *registryFlags) addRequestFlags(f *pflag.FlagSet) {
	f.StringVar(&s.AuthFile, "authfile", "", "file with credentials for registries (default: $REGISTRY_AUTH_FILE, then the files of podman and docker)")
	f.StringVar(&s.CertDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key) for registries")
	s.RetryTimes = 8
	parsedFlag(f, &s.RetryTimes, "retry-times", "int", "8", parseRetries, "how often a request is repeated, 0 to 1000")
	f.DurationVar(&s.RetryDelay, "retry-delay", 0, "wait between two attempts, up to 1h (default: it grows with each attempt)")
	f.DurationVar(&s.SilentTimeout, "silent-timeout", 0, "how long a server may send nothing to a request and its repetitions, 1s to 1h (default: 3m)")
	f.StringVar(&s.Limits, "limits", "", "file with limits of single registries (default: ~/.config/gantry/limits.yaml, if it exists)")
}

func addSideFlags(f *pflag.FlagSet, s *env.Side, name, what string) {
	f.StringVar(&s.AuthFile, name+"-authfile", "", "file with credentials for the "+what+" only")
	f.StringVar(&s.CertDir, name+"-cert-dir", "", "folder with certificates for the "+what+" only")
	verifyFlag(f, &s.SkipTLSVerify, name+"-tls-verify", "verify the "+what+"'s certificate; false also allows plain HTTP")
	f.BoolVar(&s.PlainHTTP, name+"-plain-http", false, "use plain HTTP for the "+what)
}

// verifyFlag adds a switch that is on unless skip is set.
func verifyFlag(f *pflag.FlagSet, skip *bool, name, usage string) {
	parsedFlag(f, skip, name, "bool", "true", func(s string) (bool, error) {
		verify, err := strconv.ParseBool(s)
		return !verify, err
	}, usage)
	f.Lookup(name).NoOptDefVal = "true"
}

// addCacheDir adds the flag for the folder of the cache to a verb that has one.
func (s *registryFlags) addCacheDir(f *pflag.FlagSet) {
	parsedFlag(f, &s.cacheDir, "cache-dir", "string", "", func(s string) (string, error) {
		if strings.TrimPrefix(s, fileScheme) == "" { // as with an unset variable of a script
			return "", errors.New("it names no folder")
		}
		return s, nil
	}, "folder for a cache that several workspaces share, gantry-cache (default: one in the workspace)")
}

// addRenderer adds the flag for the program that renders charts to a verb that plans.
func (s *registryFlags) addRenderer(f *pflag.FlagSet) {
	f.StringVar(&s.renderer, "helm-renderer", "", "program that renders Helm charts (default: gantry-helm beside gantry, or in PATH)")
}

// parseRetries reads a number of retries. Options have a negative one for none.
func parseRetries(s string) (int, error) {
	n, err := wholeNumber(s, 0, math.MaxInt, "use a number from 0 to 1000")
	n = cmp.Or(n, -1)
	return n, err
}

// parseMinRate reads a rate, or 0 for no minimum.
func parseMinRate(s string) (limits.Rate, error) {
	if s == "0" {
		return env.NoMinRate, nil
	}
	return optional(limits.ParseRate)(s)
}

// environment returns the Env for the flags.
func (a *app) environment(s *registryFlags) *env.Env {
	if e := a.envs[s]; e != nil {
		return e
	}
	e := &env.Env{
		Registries: s.Registries,
		Log:        a.log,
		Notice:     func(text string) { a.say("%s", flagNames(text)) },
		Warn:       func(text string) { a.warn("%s", flagNames(text)) },
		Getenv:     a.getenv,
		Home:       a.env["HOME"],
		StateDir:   a.stateDir(),
		CacheDir:   s.cacheDir,

		HelmRenderer: s.renderer,
	}
	e.Observer = &observer{app: a, retries: func() int64 { return env.Retries(e.Hosts()) }}
	e.UserAgent, e.Tune, e.TuneWindow = "gantry/"+buildVersion(), a.tune, a.tuneWindow
	if a.events != nil {
		e.OnRetry = func(side remote.Side, again remote.RetryEvent) {
			a.events.Retry(view.Retry{
				Side: env.SideName(side), Host: again.Host, Op: again.Err.Op, Attempt: again.Attempt, Wait: again.Wait, Reason: again.Err.Error(),
			})
		}
	}
	if a.envs == nil {
		a.envs = map[*registryFlags]*env.Env{}
	}
	a.envs[s] = e
	return e
}

// hangUp closes the connections that the run kept for further requests.
func (a *app) hangUp() {
	for _, e := range a.envs {
		e.Close()
	}
}
