package main

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// sides are the flags that say how registries are spoken to, per side of a run.
type sides struct {
	authFile   string
	certDir    string
	src, dest  side
	retryTimes int
	retryDelay time.Duration
	images     int
	layers     int
}

type side struct {
	authFile  string
	certDir   string
	tlsVerify bool
	plainHTTP bool
}

func (s *sides) addFlags(f *pflag.FlagSet) {
	s.addSourceFlags(f)
	s.dest.addFlags(f, "dest", "destination")
}

// addSourceFlags adds those of verbs that only read.
func (s *sides) addSourceFlags(f *pflag.FlagSet) {
	f.StringVar(&s.authFile, "authfile", "", "credentials for registries (default: $REGISTRY_AUTH_FILE, then those of podman and docker)")
	f.StringVar(&s.certDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key) for registries")
	s.src.addFlags(f, "src", "source")
	f.IntVar(&s.retryTimes, "retry-times", 5, "how often a request is tried again")
	f.DurationVar(&s.retryDelay, "retry-delay", 0, "wait between two tries (default: grows from try to try)")
	f.IntVar(&s.images, "parallel-images", 4, "images at the same time")
	f.IntVar(&s.layers, "parallel-layers", 5, "layers at the same time, per image")
}

func (s *side) addFlags(f *pflag.FlagSet, name, what string) {
	f.StringVar(&s.authFile, name+"-authfile", "", "credentials for the "+what+" alone")
	f.StringVar(&s.certDir, name+"-cert-dir", "", "certificates for the "+what+" alone")
	f.BoolVar(&s.tlsVerify, name+"-tls-verify", true, "check the "+what+"'s certificate; false also allows plain HTTP")
	f.BoolVar(&s.plainHTTP, name+"-plain-http", false, "speak plain HTTP to the "+what)
}

// streams is how many blobs move at the same time.
func (s *sides) streams() (int, error) {
	for flag, n := range map[string]int{"--parallel-images": s.images, "--parallel-layers": s.layers} {
		if n < 1 || n > 100 {
			return 0, usageHint("give a number from 1 to 100", "%s %d", flag, n)
		}
	}
	return s.images * s.layers, nil
}

// client makes the client for one side.
func (a *app) client(s *sides, which remote.Side) (*remote.Client, error) {
	mine := s.src
	if which == remote.Destination {
		mine = s.dest
	}
	if s.retryTimes < 0 || s.retryDelay < 0 {
		return nil, usagef("--retry-times and --retry-delay take no negative values")
	}
	conf, err := registries.Load(registries.Options{Log: a.log})
	if err != nil {
		return nil, &usageError{err}
	}
	streams, err := s.streams()
	if err != nil {
		return nil, err
	}
	retry := remote.Retry{Times: s.retryTimes, Delay: s.retryDelay}
	if retry.Times == 0 {
		retry.Times = -1 // there, 0 is the default
	}
	o := remote.Options{
		Keychain:   keychain.New(keychain.Options{AuthFile: cmp.Or(mine.authFile, s.authFile), Getenv: os.Getenv}),
		Registries: conf,
		CertDir:    cmp.Or(mine.certDir, s.certDir),
		SkipVerify: !mine.tlsVerify,
		PlainHTTP:  mine.plainHTTP,
		Retry:      retry,
		Streams:    2 * streams,
		Side:       which,
		UserAgent:  "gantry/" + buildVersion(),
		Log:        a.log,
	}
	if a.tune != nil {
		a.tune(&o)
	}
	c, err := remote.New(o)
	if err != nil {
		return nil, &usageError{err}
	}
	a.clients = append(a.clients, c)
	return c, nil
}

// hangUp closes the connections that the run kept for further requests.
func (a *app) hangUp() {
	for _, c := range a.clients {
		c.Close()
	}
}
