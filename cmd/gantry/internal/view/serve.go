package view

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Served is what gantry archive serve --output json prints once it listens.
type Served struct {
	Version      int    `json:"version"`
	Address      string `json:"address"`
	URL          string `json:"url"`
	Images       int    `json:"images"`
	Repositories int    `json:"repositories"`
	// NotServed are the sources of images that are incomplete in the folders, or that were missing
	// when the archive was planned.
	NotServed []string `json:"notServed"`
}

// NewServed describes a registry that listens.
func NewServed(s serve.Serving) *Served {
	scheme := "http://"
	if s.TLS {
		scheme = "https://"
	}
	return &Served{
		Version: 1, Address: s.Address.String(), URL: scheme + reachable(s.Address), Images: s.Images.Count, Repositories: s.Repositories,
		NotServed: append([]string{}, slices.Concat(s.Images.Missing, s.Images.Incomplete)...),
	}
}

// NotServed returns warnings about images that are not served.
func NotServed(images *airgap.ServableImages) []string {
	more := textIf(len(images.Withheld) > 0, ", and neither are these, which name them: %s", strings.Join(elements.Map(images.Withheld, plan.Publishable.String), ", "))
	var lines []string
	if n := len(images.Missing); n > 0 {
		lines = append(lines, fmt.Sprintf("%s not served, because the source did not have %s when the archive was planned%s", Number(n, "image is", "images are"), plural(n, "it", "them"), more))
		more = ""
	}
	if n := len(images.Incomplete); n > 0 {
		lines = append(lines, fmt.Sprintf("%s not served, because content is missing (%v)%s; also name the folders of the earlier archives", Number(n, "image is", "images are"), images.Cause, more))
	}
	return lines
}

// Serving returns what is served, and a command that pulls an image. what names the archive.
func Serving(s serve.Serving, what string) []string {
	lines := []string{fmt.Sprintf("serving %s in %s of %s on %s; stop with Ctrl-C",
		Number(s.Images.Count, "image", "images"), Number(s.Repositories, "repository", "repositories"), what, s.Address)}
	if s.Images.Example != "" {
		insecure := textIf(!s.TLS, " --tls-verify=false")
		lines = append(lines, fmt.Sprintf("try: podman pull%s %s/%s", insecure, reachable(s.Address), s.Images.Example))
	}
	return lines
}

// reachable returns the address by which this machine reaches a registry.
func reachable(at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return at.String()
}
