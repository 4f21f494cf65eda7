package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// registryFlags are the flags for how registries are reached, for each side of a run.
type registryFlags struct {
	authFile   string
	certDir    string
	src, dest  sideFlags
	retryTimes retries
	retryDelay time.Duration
	images     count
	layers     count
	rate       rateFlag
	minRate    minRateFlag
	silent     time.Duration
	limitsFile string
	cacheDir   folderFlag // of verbs that have a cache
	renderer   string     // of verbs that plan
}

type sideFlags struct {
	authFile  string
	certDir   string
	tlsVerify bool
	plainHTTP bool
}

func (s *registryFlags) addFlags(f *pflag.FlagSet) {
	s.addSourceFlags(f)
	s.dest.addFlags(f, "dest", "destination")
}

// addSourceFlags adds the flags of verbs that only read.
func (s *registryFlags) addSourceFlags(f *pflag.FlagSet) {
	s.addFileFlags(f)
	f.Var(&s.images, "parallel-images", "maximum number of images at the same time (default: adapts to the registry)")
	f.Var(&s.layers, "parallel-layers", "maximum number of layers at the same time, per image (default: adapts to the registry)")
}

// addDestinationFlags adds the flags of verbs that use a mirror alone.
func (s *registryFlags) addDestinationFlags(f *pflag.FlagSet) {
	f.StringVar(&s.authFile, "authfile", "", "file with credentials for registries (default: $REGISTRY_AUTH_FILE, then the files of podman and docker)")
	f.StringVar(&s.certDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key) for registries")
	s.dest.addFlags(f, "dest", "destination")
	s.src.tlsVerify = true
	s.addRequestFlags(f)
}

// addFileFlags adds the flags of a verb that reads one file.
func (s *registryFlags) addFileFlags(f *pflag.FlagSet) {
	f.StringVar(&s.authFile, "authfile", "", "file with credentials for registries (default: $REGISTRY_AUTH_FILE, then the files of podman and docker)")
	f.StringVar(&s.certDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key) for registries")
	s.src.addFlags(f, "src", "source")
	f.Var(&s.rate, "limit-rate", "maximum bytes per second from all sources, and to the destination: 50MiB, 800KB, 2GB")
	f.Var(&s.minRate, "min-rate", "bytes per second below which a request is ended and repeated; 0 for no minimum (default: 4KiB)")
	s.addRequestFlags(f)
}

// addRequestFlags adds the flags for all requests.
func (s *registryFlags) addRequestFlags(f *pflag.FlagSet) {
	s.retryTimes = 8
	f.Var(&s.retryTimes, "retry-times", "how often a request is repeated, 0 to 1000")
	f.DurationVar(&s.retryDelay, "retry-delay", 0, "wait between two attempts, up to 1h (default: it grows with each attempt)")
	f.DurationVar(&s.silent, "silent-timeout", 0, "how long a server may send nothing to a request and its repetitions, 1s to 1h (default: 3m)")
	f.StringVar(&s.limitsFile, "limits", "", "file with limits of single registries (default: ~/.config/gantry/limits.yaml, if it exists)")
}

func (s *sideFlags) addFlags(f *pflag.FlagSet, name, what string) {
	f.StringVar(&s.authFile, name+"-authfile", "", "file with credentials for the "+what+" only")
	f.StringVar(&s.certDir, name+"-cert-dir", "", "folder with certificates for the "+what+" only")
	f.BoolVar(&s.tlsVerify, name+"-tls-verify", true, "verify the "+what+"'s certificate; false also allows plain HTTP")
	f.BoolVar(&s.plainHTTP, name+"-plain-http", false, "use plain HTTP for the "+what)
}

// addCacheDir adds the flag for the folder of the cache to a verb that has one.
func (s *registryFlags) addCacheDir(f *pflag.FlagSet) {
	f.Var(&s.cacheDir, "cache-dir", "folder for a cache that several workspaces share, gantry-cache (default: one in the workspace)")
}

// addRenderer adds the flag for the program that renders charts to a verb that plans.
func (s *registryFlags) addRenderer(f *pflag.FlagSet) {
	f.StringVar(&s.renderer, "helm-renderer", "", "program that renders Helm charts (default: gantry-helm beside gantry, or in PATH)")
}

// A folderFlag is a flag for a folder, which must not be empty, as with an unset variable of a script.
type folderFlag string

func (d *folderFlag) String() string { return string(*d) }
func (d *folderFlag) Type() string   { return "string" }

func (d *folderFlag) Set(s string) error {
	if strings.TrimPrefix(s, fileScheme) == "" {
		return errors.New("it names no folder")
	}
	*d = folderFlag(s)
	return nil
}

// A retries is a flag for a number that is not negative.
type retries int

func (r *retries) String() string { return strconv.Itoa(int(*r)) }
func (r *retries) Type() string   { return "int" }

func (r *retries) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("use a number from 0 to 1000")
	}
	*r = retries(n)
	return nil
}

// A count is a flag for a number, or "" if it was not given.
type count string

func (c *count) String() string { return string(*c) }
func (c *count) Type() string   { return "int" }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 100 {
		return errors.New("use a number from 1 to 100")
	}
	*c = count(strconv.Itoa(n))
	return nil
}

// number returns the number, or 0 if the flag was not given.
func (c *count) number() int {
	n, err := strconv.Atoi(string(*c))
	if err != nil {
		return 0
	}
	return n
}

// registries returns the values of the flags.
func (s *registryFlags) registries() env.Registries {
	r := env.Registries{
		AuthFile: s.authFile, CertDir: s.certDir,
		Source: s.src.side(), Destination: s.dest.side(),
		RetryTimes: int(s.retryTimes), RetryDelay: s.retryDelay,
		ParallelImages: s.images.number(), ParallelLayers: s.layers.number(),
		Rate: s.rate.rate, MinRate: s.minRate.rate, SilentTimeout: s.silent, Limits: s.limitsFile,
	}
	if r.RetryTimes == 0 {
		r.RetryTimes = -1 // 0 is the default there
	}
	return r
}

func (s *sideFlags) side() env.Side {
	return env.Side{AuthFile: s.authFile, CertDir: s.certDir, SkipTLSVerify: !s.tlsVerify, PlainHTTP: s.plainHTTP}
}

// environment returns the Env for the flags.
func (a *app) environment(s *registryFlags) *env.Env {
	if e := a.envs[*s]; e != nil {
		return e
	}
	e := &env.Env{
		Registries: s.registries(),
		Log:        a.log,
		Notice:     func(text string) { a.say("%s", flagNames(text)) },
		Warn:       func(text string) { a.warn("%s", flagNames(text)) },
		Getenv:     a.getenv,
		Home:       a.env["HOME"],
		StateDir:   a.stateDir(),
		CacheDir:   string(s.cacheDir),

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
		a.envs = map[registryFlags]*env.Env{}
	}
	a.envs[*s] = e
	return e
}

// hangUp closes the connections that the run kept for further requests.
func (a *app) hangUp() {
	for _, e := range a.envs {
		e.Close()
	}
}
