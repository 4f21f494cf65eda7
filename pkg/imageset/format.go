package imageset

import (
	"fmt"
	"regexp"
	"strings"
)

// apiGroup is what every version of the format begins with.
const apiGroup = "mirror.openshift.io/"

// maxArchiveSize is the largest size in GiB whose bytes fit an int64.
const maxArchiveSize = 1<<33 - 1

// configObject and the objects below are the format: every field that oc mirror
// knows (its type_config.go), and Gantry's own.
func configObject() object[Config] {
	return object[Config]{
		fields: []field[Config]{
			constant[Config]("apiVersion", "The version of the format.", APIVersion, nearVersion),
			constant[Config]("kind", "The kind of the document.", Kind, func(s string) (string, string) {
				return quote(s) + " is not the kind of this file", fmt.Sprintf("write %q", Kind)
			}),
			number("archiveSize", "The size limit of one archive volume, in GiB.", maxArchiveSize,
				func(c *Config) *int64 { return &c.ArchiveSize }),
			must(section("mirror", "What is mirrored.", func(c *Config) *Mirror { return &c.Mirror }, mirrorObject())),
		},
		gone: map[string]string{
			"delete":        "it belongs to a DeleteImageSetConfiguration; take it out",
			"storageConfig": "take it out: it is of oc mirror v1, and Gantry keeps its state in the workspace",
			"metadata":      "take it out: the format has none",
		},
	}
}

func nearVersion(s string) (message, hint string) {
	hint = fmt.Sprintf("write %q", APIVersion)
	if strings.HasPrefix(s, apiGroup+"v1alpha") {
		return quote(s) + " is the format of oc mirror v1",
			hint + ", take storageConfig out and see to the other fields that are reported"
	}
	return quote(s) + " is not a version that Gantry reads", hint
}

func mirrorObject() object[Mirror] {
	return object[Mirror]{
		fields: []field[Mirror]{
			option("platform", "Platform releases.", func(m *Mirror) **Releases { return &m.Platform },
				func(r *Releases) *Position { return &r.Pos }, releasesObject()),
			list("operators", "Operator catalogs and what is taken of them.",
				func(m *Mirror) *[]Operator { return &m.Operators }, func(o *Operator) *Position { return &o.Pos }, operatorObject()),
			list("additionalImages", "Images to mirror beside those of the catalogs.",
				func(m *Mirror) *[]Image { return &m.AdditionalImages }, func(i *Image) *Position { return &i.Pos }, imageObject()),
			refused[Mirror]("helm", "Not yet supported: Helm charts.",
				"Helm charts are not yet supported by this version of Gantry", "take it out to mirror the rest"),
			list("blockedImages", "Images to leave out.",
				func(m *Mirror) *[]Blocked { return &m.BlockedImages }, func(b *Blocked) *Position { return &b.Pos }, blockedObject()),
			refused[Mirror]("samples", "Not supported; oc mirror accepts it and does nothing.",
				"samples are not supported; oc mirror accepted them and mirrored nothing for them",
				"take them out and list the images under additionalImages"),
		},
		gone: map[string]string{
			"ocp":          "it is of oc mirror v1: use platform",
			"installed":    "it stands with the catalog, under operators",
			"dependencies": "it stands with the catalog, under operators",
		},
		check: checkMirror,
	}
}

func operatorObject() object[Operator] {
	return object[Operator]{
		fields: []field[Operator]{
			must(text("catalog", "The catalog: a registry reference with tag or digest, oci://DIR (an OCI layout) or dir://DIR (a folder of file-based catalogs).",
				func(o *Operator) *string { return &o.Catalog }, source(ociScheme, dirScheme))),
			text("targetCatalog", "The catalog's repository path in the mirror.",
				func(o *Operator) *string { return &o.TargetCatalog }, targetPath("targetTag")),
			text("targetTag", "The catalog's tag in the mirror.", func(o *Operator) *string { return &o.TargetTag }, tag()),
			text("targetCatalogSourceTemplate", "The path of a CatalogSource manifest to fill in, relative to the working directory.",
				func(o *Operator) *string { return &o.TargetCatalogSourceTemplate }, grammar{}),
			flag("full", "Take every bundle of the packages and channels chosen instead of the channel heads; without packages, the whole catalog.",
				func(o *Operator) *bool { return &o.Full }),
			flag[Operator]("skipDependencies", "Accepted for files of oc mirror: without dependencies, none are added.", nil),
			flag("dependencies", "Add the operators that the chosen ones need, from all catalogs of the configuration.",
				func(o *Operator) *bool { return &o.Dependencies }),
			list("installed", "What clusters run: the shortest way from there to the head is kept.",
				func(o *Operator) *[]Installed { return &o.Installed }, func(i *Installed) *Position { return &i.Pos }, installedObject()),
			list("platforms", "Thin out every multi-platform image of the catalog to these.",
				func(o *Operator) *[]Platform { return &o.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			list("packages", "The operators to take; without it, all.",
				func(o *Operator) *[]Package { return &o.Packages }, func(p *Package) *Position { return &p.Pos }, packageObject()),
		},
		gone: map[string]string{
			"targetName":  "it is of oc mirror v1: use targetCatalog",
			"originalRef": "it is of oc mirror v1: take it out",
			"headsOnly":   "it is of oc mirror v1: heads are the default, `full: true` is the opposite",
		},
		check: checkOperator,
	}
}

func packageObject() object[Package] {
	return object[Package]{
		fields: []field[Package]{
			must(text("name", "The name of the package.", func(p *Package) *string { return &p.Name }, name())),
			text("defaultChannel", "Replaces the package's default channel; one that is kept.",
				func(p *Package) *string { return &p.DefaultChannel }, name()),
			text("minVersion", "The lowest version taken, in every channel chosen.",
				func(p *Package) *string { return &p.Range.Min }, version()),
			text("maxVersion", "The highest version taken, in every channel chosen.",
				func(p *Package) *string { return &p.Range.Max }, version()),
			list("channels", "The channels to take; without it, all.",
				func(p *Package) *[]Channel { return &p.Channels }, func(c *Channel) *Position { return &c.Pos }, channelObject()),
			list("bundles", "Exactly the bundles to take, in every channel that has them; excludes ranges and channels.",
				func(p *Package) *[]Bundle { return &p.Bundles }, func(b *Bundle) *Position { return &b.Pos }, bundleObject()),
		},
		gone: map[string]string{
			"selectedBundles": "it was a preview of oc mirror: use bundles, whose entries have a name",
			"minBundle":       "it is of oc mirror v1: use minVersion, or bundles",
		},
		check: checkPackage,
	}
}

func channelObject() object[Channel] {
	return object[Channel]{
		fields: []field[Channel]{
			must(text("name", "The name of the channel.", func(c *Channel) *string { return &c.Name }, name())),
			text("minVersion", "The lowest version taken of this channel.", func(c *Channel) *string { return &c.Range.Min }, version()),
			text("maxVersion", "The highest version taken of this channel.", func(c *Channel) *string { return &c.Range.Max }, version()),
		},
		gone:  map[string]string{"minBundle": "it is of oc mirror v1: use minVersion"},
		check: func(r *reader, path string, c *Channel) { checkRange(r, path, c.Range) },
	}
}

func bundleObject() object[Bundle] {
	return object[Bundle]{fields: []field[Bundle]{
		must(text("name", "The name of the bundle, such as foo.v1.2.3.", func(b *Bundle) *string { return &b.Name }, name())),
	}}
}

func installedObject() object[Installed] {
	return object[Installed]{
		fields: []field[Installed]{
			must(text("package", "The package of the operator, one of those selected.", func(i *Installed) *string { return &i.Package }, name())),
			text("bundle", "The name of the ClusterServiceVersion, such as foo.v1.2.3.", func(i *Installed) *string { return &i.Bundle }, name()),
			text("version", "The version that is installed; the bundle or the version is needed.", func(i *Installed) *string { return &i.Version }, version()),
			text("channel", "The channel that the cluster follows; without it, any.", func(i *Installed) *string { return &i.Channel }, name()),
		},
		check: checkInstalled,
	}
}

func platformObject() object[Platform] {
	return object[Platform]{fields: []field[Platform]{
		must(text("os", "The operating system, such as linux.", func(p *Platform) *string { return &p.OS }, systems())),
		must(text("architecture", "The architecture, such as amd64.", func(p *Platform) *string { return &p.Architecture }, architectures())),
	}}
}

func imageObject() object[Image] {
	return object[Image]{
		fields: []field[Image]{
			must(text("name", "The image: a registry reference with tag or digest, or oci://DIR (an OCI layout).",
				func(i *Image) *string { return &i.Name }, source(ociScheme))),
			text("targetRepo", "The image's repository path in the mirror.",
				func(i *Image) *string { return &i.TargetRepo }, targetPath("targetTag")),
			text("targetTag", "The image's tag in the mirror.", func(i *Image) *string { return &i.TargetTag }, tag()),
			list("platforms", "Thin out a multi-platform image to these.",
				func(i *Image) *[]Platform { return &i.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
		},
		check: func(r *reader, path string, i *Image) { checkPlatforms(r, path, i.Platforms) },
	}
}

func blockedObject() object[Blocked] {
	return object[Blocked]{
		fields: []field[Blocked]{
			must(text("name", "A regular expression (Go's), unanchored, over image references.",
				func(b *Blocked) *string { return &b.Name }, expression())),
		},
		check: func(_ *reader, _ string, b *Blocked) {
			if p, err := regexp.Compile(b.Name); err == nil {
				b.Pattern = p
			}
		},
	}
}
