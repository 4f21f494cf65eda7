package ocmirror

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// level is the version of oc mirror whose command lines and configurations are read. Scripts compare it with
// the version that they need.
const level = "4.22.0"

// Build describes the program with the names that oc mirror has for it. Its JSON is what clientVersion of
// version --output json is.
type Build struct {
	Major        string `json:"major"`
	Minor        string `json:"minor"`
	GitVersion   string `json:"gitVersion"`
	GitCommit    string `json:"gitCommit"`
	GitTreeState string `json:"gitTreeState"`
	BuildDate    string `json:"buildDate"`
	GoVersion    string `json:"goVersion"`
	Compiler     string `json:"compiler"`
	Platform     string `json:"platform"`
}

// NewBuild describes the program, whose version is the one of Gantry. What the build did not record is "".
// Releases of oc mirror have neither Major nor Minor.
func NewBuild(version string) Build {
	b := Build{GitVersion: level + "-gantry-" + version, GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.GitCommit = s.Value
		case s.Key == "vcs.time":
			b.BuildDate = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			b.GitTreeState = "dirty"
		case s.Key == "vcs.modified":
			b.GitTreeState = "clean"
		}
	}
	return b
}

// text returns the line of version.
func (b Build) text() string {
	return fmt.Sprintf("Client Version: version.Info{Major:%q, Minor:%q, GitVersion:%q, GitCommit:%q, GitTreeState:%q, BuildDate:%q, GoVersion:%q, Compiler:%q, Platform:%q}\n",
		b.Major, b.Minor, b.GitVersion, b.GitCommit, b.GitTreeState, b.BuildDate, b.GoVersion, b.Compiler, b.Platform)
}

// versionText returns what version without --output, version --short and --version print.
func (l *line) versionText() string {
	b := NewBuild(l.Version)
	switch {
	case l.asks:
		return l.Name + " version " + b.GitVersion + "\n"
	case truth(l.value("short")):
		return "Client Version: " + b.GitVersion + "\n"
	}
	return b.text()
}
