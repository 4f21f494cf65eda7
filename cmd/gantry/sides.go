package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// sides are the flags that say how registries are spoken to, per side of a run.
type sides struct {
	authFile   string
	certDir    string
	src, dest  side
	retryTimes int
	retryDelay time.Duration
	images     count
	layers     count
	rate       string
	limitsFile string
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
	f.IntVar(&s.retryTimes, "retry-times", 8, "how often a request is tried again, 0 to 1000")
	f.DurationVar(&s.retryDelay, "retry-delay", 0, "wait between two tries, up to 1h (default: grows from try to try)")
	f.Var(&s.images, "parallel-images", "images at the same time, at most (default: as many as make it faster)")
	f.Var(&s.layers, "parallel-layers", "layers at the same time, per image, at most (default: as many as make it faster)")
	f.StringVar(&s.rate, "limit-rate", "", "bytes per second that are received from all sources, and that are sent to the destination: 50MiB, 800KB, 2GB")
	f.StringVar(&s.limitsFile, "limits", "", "file with limits of single registries (default: ~/.config/gantry/limits.yaml, where there is one)")
}

func (s *side) addFlags(f *pflag.FlagSet, name, what string) {
	f.StringVar(&s.authFile, name+"-authfile", "", "credentials for the "+what+" alone")
	f.StringVar(&s.certDir, name+"-cert-dir", "", "certificates for the "+what+" alone")
	f.BoolVar(&s.tlsVerify, name+"-tls-verify", true, "check the "+what+"'s certificate; false also allows plain HTTP")
	f.BoolVar(&s.plainHTTP, name+"-plain-http", false, "speak plain HTTP to the "+what)
}

// Where one of --parallel-images and --parallel-layers is given, the other is as
// oc mirror has it.
const (
	defaultImages = 4
	defaultLayers = 5
)

// A count is a flag for a number that need not be given: "" where it was not.
type count string

func (c *count) String() string { return string(*c) }
func (c *count) Type() string   { return "int" }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("give a number from 1 to 100")
	}
	*c = count(strconv.Itoa(n))
	return nil
}

func (c *count) or(n int) int {
	if given, err := strconv.Atoi(string(*c)); err == nil {
		return given
	}
	return n
}

// bound is how many requests the user wants at one registry at the same time; 0
// where that is left to the registry.
func (s *sides) bound() (int, error) {
	if s.images == "" && s.layers == "" {
		return 0, nil
	}
	images, layers := s.images.or(defaultImages), s.layers.or(defaultLayers)
	for _, given := range []struct {
		flag string
		n    int
	}{{"--parallel-images", images}, {"--parallel-layers", layers}} {
		if given.n < 1 || given.n > 100 {
			return 0, usageHint("give a number from 1 to 100", "%s %d", given.flag, given.n)
		}
	}
	return images * layers, nil
}

// streams is how many blobs may be on their way at the same time: as many as the
// user says, or as any registry is sent, so that the client decides.
func (s *sides) streams() (int, error) {
	n, err := s.bound()
	return cmp.Or(n, remote.MostStreams), err
}

// limits reads what the user says of the network and of single registries.
func (s *sides) limits(getenv func(string) string) (rate limits.Rate, l *limits.Limits, err error) {
	if s.rate != "" {
		if rate, err = limits.ParseRate(s.rate); err != nil {
			return 0, nil, usagef("--limit-rate: %w", err)
		}
	}
	file := cmp.Or(s.limitsFile, limits.Default(getenv))
	if file == "" {
		return rate, nil, nil
	}
	if l, err = limits.Load(file); err != nil {
		return 0, nil, &usageError{err}
	}
	return rate, l, nil
}

// keys finds credentials for one side. The files that the user named are read, before
// anything is asked for; sides that name the same one share what was read, since it
// may be a pipe.
func (a *app) keys(s *sides, mine *side, which remote.Side) (*keychain.Keychain, error) {
	flag := "--authfile"
	if mine.authFile != "" {
		flag = "--src-authfile"
		if which == remote.Destination {
			flag = "--dest-authfile"
		}
	}
	file := cmp.Or(mine.authFile, s.authFile)
	if k := a.keychains[file]; k != nil {
		return k, nil
	}
	o := a.keychainOptions(file)
	o.AuthFlag = flag
	k := keychain.New(o)
	switch err := k.CheckNamed(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &usageError{&hintError{err, "; ", "check the path, or let gantry login write the file"}}
	case err != nil:
		return nil, &usageError{&hintError{err, "; ", "mend the file, or name another; gantry login writes one"}}
	}
	if a.keychains == nil {
		a.keychains = map[string]*keychain.Keychain{}
	}
	a.keychains[file] = k
	return k, nil
}

// The most that requests are tried again, and the longest wait before each: beyond
// that, a mistake is more likely than patience.
const (
	maxRetryTimes = 1000
	maxRetryDelay = time.Hour
)

// retry is how often and when requests are made again.
func (s *sides) retry() (remote.Retry, error) {
	if s.retryTimes < 0 || s.retryTimes > maxRetryTimes {
		return remote.Retry{}, usageHint(fmt.Sprintf("give a number from 0 to %d", maxRetryTimes), "--retry-times %d", s.retryTimes)
	}
	if s.retryDelay < 0 || s.retryDelay > maxRetryDelay {
		return remote.Retry{}, usageHint("give a time from 0 to 1h, such as 500ms or 10s", "--retry-delay %s", s.retryDelay)
	}
	r := remote.Retry{Times: s.retryTimes, Delay: s.retryDelay}
	if r.Times == 0 {
		r.Times = -1 // there, 0 is the default
	}
	return r, nil
}

// client makes the client for one side.
func (a *app) client(s *sides, which remote.Side) (*remote.Client, error) {
	mine := s.src
	if which == remote.Destination {
		mine = s.dest
	}
	retry, err := s.retry()
	if err != nil {
		return nil, err
	}
	conf, err := a.registries()
	if err != nil {
		return nil, err
	}
	bound, err := s.bound()
	if err != nil {
		return nil, err
	}
	rate, perHost, err := s.limits(a.getenv)
	if err != nil {
		return nil, err
	}
	keys, err := a.keys(s, &mine, which)
	if err != nil {
		return nil, err
	}
	o := remote.Options{
		Keychain:   keys,
		Registries: conf,
		CertDir:    cmp.Or(mine.certDir, s.certDir),
		SkipVerify: !mine.tlsVerify,
		PlainHTTP:  mine.plainHTTP,
		Retry:      retry,
		Streams:    bound,
		Rate:       rate,
		Limits:     perHost,
		Side:       which,
		UserAgent:  "gantry/" + buildVersion(),
		Log:        a.log,
	}
	if a.events != nil {
		o.OnRetry = a.events.retry(which)
	}
	if a.tune != nil {
		a.tune(&o)
	}
	c, err := remote.New(o)
	if err != nil {
		return nil, &usageError{err}
	}
	a.clients = append(a.clients, sideClient{c, which})
	return c, nil
}

// hangUp closes the connections that the run kept for further requests.
func (a *app) hangUp() {
	for _, c := range a.clients {
		c.Close()
	}
}
