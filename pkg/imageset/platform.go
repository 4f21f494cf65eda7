package imageset

// systems is the grammar of operating systems. The operating systems and architectures of the OCI
// image index are Go's GOOS and GOARCH (image-spec, image-index.md). These are the ones that images
// are built for.
func systems() grammar {
	return nameOf("operating system",
		[]string{"linux", "windows", "darwin", "freebsd", "netbsd", "openbsd", "solaris", "aix", "wasip1"},
		map[string]string{"macos": "darwin", "osx": "darwin", "win": "windows"})
}

func architectures() grammar {
	return nameOf("architecture",
		[]string{
			"amd64", "arm64", "ppc64le", "s390x", "386", "arm", "loong64", "mips", "mips64", "mips64le", "mipsle",
			"ppc64", "riscv64", "wasm",
		},
		otherArchitectures())
}

// otherArchitectures maps common other names of architectures to Go's names.
func otherArchitectures() map[string]string {
	return map[string]string{
		"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "i386": "386", "i686": "386", "x86": "386",
		"aarch64": "arm64", "armhf": "arm", "armv7": "arm", "armv7l": "arm", "ppc64el": "ppc64le", "powerpc64le": "ppc64le",
	}
}

// checkPlatforms reports platforms that are listed twice, and returns the others.
func checkPlatforms(r *reader, path string, platforms []Platform) []Platform {
	return distinct(r, join(path, "platforms"), platforms, platformObject, "remove one of the two", func(p *Platform) (string, Position) {
		if p.OS == "" || p.Architecture == "" {
			return "", p.Pos
		}
		return p.OS + "/" + p.Architecture, p.Pos
	})
}

func platformObject() object[Platform] {
	return object[Platform]{fields: []field[Platform]{
		must(text("os", "The operating system, such as linux.", func(p *Platform) *string { return &p.OS }, systems())),
		must(text("architecture", "The architecture, such as amd64.", func(p *Platform) *string { return &p.Architecture }, architectures())),
	}}
}
