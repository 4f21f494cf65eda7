package env

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// Registries says how registries are reached. The zero value reads credentials where podman and
// docker store them, verifies certificates, and has no limits.
type Registries struct {
	// AuthFile has the credentials for registries. The default is $REGISTRY_AUTH_FILE, then the
	// files of podman and docker.
	AuthFile string
	// Credentials finds credentials in place of AuthFile and those files. It is called by several goroutines.
	Credentials remote.Keychain
	// Transport sends all requests, in place of connections that follow from certificates, proxies and PlainHTTP.
	// Nor are addresses checked that servers name. It is used by several goroutines.
	Transport http.RoundTripper
	// CertDir is a folder with CAs (*.crt) and client certificates (*.cert, *.key).
	CertDir string
	// Source and Destination are options for one side of a run.
	Source, Destination Side
	// RetryTimes is how often a request is repeated, up to 1000. 0 is the default, 8; negative
	// repeats nothing.
	RetryTimes int
	// RetryDelay is the wait before each repetition, up to an hour. 0 waits longer each time.
	RetryDelay time.Duration
	// ParallelImages and ParallelLayers, from 1 to 100, limit how many images are copied at the
	// same time, and how many layers of each. 0 is as many as make it faster; if only one of them
	// is set, the other is 4 images or 5 layers, as in oc mirror.
	ParallelImages, ParallelLayers int
	// Rate limits the bytes per second that are received from all sources, and that are sent to the
	// destination. 0 is no limit.
	Rate limits.Rate
	// MinRate is the number of bytes per second that the requests of each side have to transfer
	// together, in a minute in which the network is waited for. A slower request is ended and repeated.
	// 0 is the default, 4 KiB; negative, such as NoMinRate, is no minimum.
	MinRate limits.Rate
	// SilentTimeout is how long a server may send nothing to a request and its repetitions, from 1s
	// to 1h. 0 is the default, 3 minutes.
	SilentTimeout time.Duration
	// Limits is a file with limits of single registries. The default is
	// ~/.config/gantry/limits.yaml, if it exists.
	Limits string
	// UserAgent is sent with each request. The default is "gantry".
	UserAgent string
	// OnRetry is called before each repetition of a request.
	OnRetry func(side remote.Side, r remote.RetryEvent)
	// Tune changes the options of each client before it is made. Tests set clocks with it.
	Tune func(*remote.Options)
}

// A Side says how the registries of one side of a run are reached.
type Side struct {
	// AuthFile and CertDir replace those of Registries.
	AuthFile, CertDir string
	// SkipTLSVerify accepts any certificate, and plain HTTP too.
	SkipTLSVerify bool
	// PlainHTTP speaks plain HTTP.
	PlainHTTP bool
}

// If only one of the two limits of parallel transfers is set, the other is as in oc mirror.
const (
	defaultImages = 4
	defaultLayers = 5
)

// bound returns how many requests one registry may get at the same time, or 0 to leave it to the
// registry.
func (r *Registries) bound() (int, error) {
	if r.ParallelImages == 0 && r.ParallelLayers == 0 {
		return 0, nil
	}
	images, layers := cmp.Or(r.ParallelImages, defaultImages), cmp.Or(r.ParallelLayers, defaultLayers)
	for _, given := range []struct {
		option string
		n      int
	}{{"ParallelImages", images}, {"ParallelLayers", layers}} {
		if given.n < 1 || given.n > 100 {
			return 0, InputHint("give a number from 1 to 100", "Options.%s %d", given.option, given.n)
		}
	}
	return images * layers, nil
}

// Streams returns how many blobs may be copied at the same time: the number that the options give,
// or the maximum, within which the client adapts.
func Streams(r *Registries) (int, error) {
	n, err := r.bound()
	return cmp.Or(n, remote.MaxStreams), err
}

// rateLimits reads the limits of the network and of single registries.
func (e *Env) rateLimits() (rate limits.Rate, l *limits.Limits, err error) {
	if e.Rate < 0 {
		return 0, nil, InputHint("give a number of bytes per second, or 0 for no limit", "Options.Rate %d", e.Rate)
	}
	file := cmp.Or(e.Limits, ConfigFile(e.Variable, "limits.yaml"))
	if file == "" {
		return e.Rate, nil, nil
	}
	if l, err = limits.Load(file); err != nil {
		return 0, nil, advice.Wrap(advice.Input, err, "")
	}
	return e.Rate, l, nil
}

// NoMinRate is a Registries.MinRate without a minimum.
const NoMinRate limits.Rate = -1

// defaultMinRate is far below the slowest links: a week would not suffice for 3 GB.
const defaultMinRate limits.Rate = 4 << 10

// slowest returns the minimum rate, and how long servers may be silent.
func (r *Registries) slowest() (limits.Rate, time.Duration, error) {
	if r.SilentTimeout != 0 && (r.SilentTimeout < time.Second || r.SilentTimeout > time.Hour) {
		return 0, 0, InputHint("give a time from 1s to 1h, such as 90s or 10m", "Options.SilentTimeout %s", r.SilentTimeout)
	}
	return max(cmp.Or(r.MinRate, defaultMinRate), 0), r.SilentTimeout, nil
}

// Maximum values of RetryTimes and RetryDelay. Larger ones are probably a mistake.
const (
	maxRetryTimes = 1000
	maxRetryDelay = time.Hour
)

// retry returns how often and when requests are repeated.
func (r *Registries) retry() (remote.Retry, error) {
	if r.RetryTimes > maxRetryTimes {
		return remote.Retry{}, InputHint(fmt.Sprintf("give a number from 0 to %d", maxRetryTimes), "Options.RetryTimes %d", r.RetryTimes)
	}
	if r.RetryDelay < 0 || r.RetryDelay > maxRetryDelay {
		return remote.Retry{}, InputHint("give a time from 0 to 1h, such as 500ms or 10s", "Options.RetryDelay %s", r.RetryDelay)
	}
	return remote.Retry{Times: r.RetryTimes, Delay: r.RetryDelay}, nil
}

// Keys returns the credentials for one side. A file that an option names is read before the first
// request. Sides with the same file share the content, since the file may be a pipe.
func (e *Env) Keys(mine Side, which remote.Side) (remote.Keychain, error) {
	if e.Credentials != nil {
		return e.Credentials, nil
	}
	option := "Options.AuthFile"
	if mine.AuthFile != "" {
		option = "Options.Source.AuthFile"
		if which == remote.Destination {
			option = "Options.Destination.AuthFile"
		}
	}
	file := cmp.Or(mine.AuthFile, e.AuthFile)
	e.mu.Lock()
	defer e.mu.Unlock()
	if k := e.keychains[file]; k != nil {
		return k, nil
	}
	k := keychain.New(keychain.Options{AuthFile: file, NamedBy: option, Getenv: e.Variable, Home: e.Home, Warn: e.warnExposed})
	switch err := k.CheckNamed(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Wrap(advice.Input, err, "check the path, or write the file with gantry registry login")
	case err != nil:
		return nil, advice.Wrap(advice.Input, err, "fix the file, or write another with gantry registry login")
	}
	if e.keychains == nil {
		e.keychains = map[string]*keychain.Keychain{}
	}
	e.keychains[file] = k
	return k, nil
}

// Client makes the client for one side of a run. Env.Close closes its connections.
func (e *Env) Client(which remote.Side) (*remote.Client, error) {
	mine := e.Source
	if which == remote.Destination {
		mine = e.Destination
	}
	keys, err := e.Keys(mine, which)
	if err != nil {
		return nil, err
	}
	return NewClient(e, which, mine, keys)
}

// RegistriesConf reads registries.conf.
func RegistriesConf(e *Env) (*registries.Config, error) {
	conf, err := registries.Load(registries.Options{Getenv: e.Variable, Home: e.Home, Log: e.Logger()})
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	return conf, nil
}

// NewClient makes the client for one side of a run with these credentials.
func NewClient(e *Env, which remote.Side, mine Side, keys remote.Keychain) (*remote.Client, error) {
	retry, err := e.retry()
	if err != nil {
		return nil, err
	}
	conf, err := RegistriesConf(e)
	if err != nil {
		return nil, err
	}
	bound, err := e.bound()
	if err != nil {
		return nil, err
	}
	rate, perHost, err := e.rateLimits()
	if err != nil {
		return nil, err
	}
	slowest, silent, err := e.slowest()
	if err != nil {
		return nil, err
	}
	proxy, err := remote.ProxyFromEnvironment(e.Variable)
	if err != nil {
		return nil, err
	}
	o := remote.Options{
		Keychain:   keys,
		Proxy:      proxy,
		Transport:  e.Transport,
		Registries: conf,
		CertDir:    cmp.Or(mine.CertDir, e.CertDir),
		Exposed:    e.warnExposed,
		SkipVerify: mine.SkipTLSVerify,
		PlainHTTP:  mine.PlainHTTP,
		Retry:      retry,
		Streams:    bound,
		Rate:       rate,
		Limits:     perHost,
		Side:       which,
		UserAgent:  cmp.Or(e.UserAgent, "gantry"),
		Log:        e.Logger(),
		Timeouts:   remote.Timeouts{SilentTimeout: silent, MinRate: slowest},
	}
	if e.OnRetry != nil {
		o.OnRetry = func(r remote.RetryEvent) { e.OnRetry(which, r) }
	}
	if e.Tune != nil {
		e.Tune(&o)
	}
	c, err := remote.New(o)
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	e.mu.Lock()
	e.clients = append(e.clients, sideClient{c, which})
	e.mu.Unlock()
	return c, nil
}
