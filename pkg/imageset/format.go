package imageset

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// apiGroup is the prefix of every version of the format.
const apiGroup = "mirror.openshift.io/"

// maxArchiveSize is the largest size in GiB whose bytes fit an int64.
const maxArchiveSize = 1<<33 - 1

// configObject and the objects below are the format: every field of oc mirror (its type_config.go),
// and Gantry's own.
func configObject() object[Config] {
	return object[Config]{
		fields: []field[Config]{
			versionField[Config](),
			constant[Config]("kind", "The kind of the document.", Kind, func(s string) (string, string) {
				return quote(s) + " is not the kind of this file", fmt.Sprintf("write %q", Kind)
			}),
			number("archiveSize", "The size limit of one archive volume, in GiB.", maxArchiveSize,
				func(c *Config) *int64 { return &c.ArchiveSize }),
			mirrorField(),
		},
		former: []field[Config]{
			ignored[Config]("storageConfig", "the state is in the workspace"),
		},
		removed: map[string]string{
			"delete":   "it belongs to a DeleteImageSetConfiguration; remove it",
			"metadata": "remove it: the format has no metadata",
		},
	}
}

// versionField is apiVersion. Every version is read as v2alpha1.
func versionField[T any]() field[T] {
	f := constant[T]("apiVersion", "The version of the format.", APIVersion, nil)
	f.read = func(r *reader, n *yaml.Node, path string, _ *T) {
		if n = resolve(n); n.Kind != yaml.ScalarNode {
			r.fault(path, "found "+describe(n)+", expected a string", fmt.Sprintf("write %q", APIVersion))
		} else if n.Value != APIVersion {
			r.warn(path, fmt.Sprintf("%s is read as %q", quote(n.Value), APIVersion), setText(n, APIVersion))
		}
	}
	f.absent = func(r *reader, path string, _ *T) {
		if p, ok := r.at[f.name]; ok {
			r.warn(f.name, fmt.Sprintf("is empty; the file is read as %q", APIVersion), setText(p.value, APIVersion))
			return
		}
		r.warn(path, fmt.Sprintf("field %q is missing; the file is read as %q", f.name, APIVersion), r.insert(path, "", f.name, APIVersion))
	}
	return f
}

// mirrorField is mirror. If it is empty, the configuration is read, but not usable.
func mirrorField() field[Config] {
	f := must(section("mirror", "What is mirrored.", func(c *Config) *Mirror { return &c.Mirror }, mirrorObject()))
	f.write = func(from *Config) []byte { return mirrorObject().encode(&from.Mirror) } // also if it is empty
	f.absent = func(r *reader, path string, c *Config) {
		if p, ok := r.at[f.name]; ok {
			f.read(r, &yaml.Node{Kind: yaml.MappingNode, Line: p.Line, Column: p.Column}, f.name, c)
			return
		}
		r.fault(path, fmt.Sprintf("field %q is missing", f.name), "it needs "+f.shape.wanted())
	}
	return f
}

func mirrorObject() object[Mirror] {
	return object[Mirror]{
		fields: []field[Mirror]{
			option("platform", "Platform releases.", func(m *Mirror) **Releases { return &m.Platform },
				func(r *Releases) *Position { return &r.Pos }, releasesObject()),
			list("operators", "Operator catalogs and the selection from each.",
				func(m *Mirror) *[]Operator { return &m.Operators }, func(o *Operator) *Position { return &o.Pos }, operatorObject()),
			list("additionalImages", "Images to mirror in addition to those of the catalogs.",
				func(m *Mirror) *[]Image { return &m.AdditionalImages }, func(i *Image) *Position { return &i.Pos }, imageObject()),
			option("helm", "Helm charts, whose images are mirrored.", func(m *Mirror) **Helm { return &m.Helm },
				func(h *Helm) *Position { return &h.Pos }, helmObject()),
			list("blockedImages", "Images not to mirror.",
				func(m *Mirror) *[]Blocked { return &m.BlockedImages }, func(b *Blocked) *Position { return &b.Pos }, blockedObject()),
			list("samples", "Image streams of the samples operator whose images are mirrored, by name.",
				func(m *Mirror) *[]Sample { return &m.Samples }, func(s *Sample) *Position { return &s.Pos }, sampleObject()),
			list("files", "Files that are mirrored as they are, such as tools and boot images.",
				func(m *Mirror) *[]File { return &m.Files }, func(f *File) *Position { return &f.Pos }, fileObject()),
			text("signatures", "What happens to the signatures, attestations, bills of materials and other referrers of images: copy (the default) or remove.",
				func(m *Mirror) *string { return &m.Signatures }, oneOf("value", []string{CopySignatures, RemoveSignatures}, nil)),
			text("minAge", "Leave out bundles, platform releases, charts and tags that were created later than this long ago: 3d, 2w or 72h.",
				func(m *Mirror) *string { return &m.MinAge }, wholeDays()),
		},
		renamed: map[string]string{"ocp": "platform"},
		removed: map[string]string{
			"installed":    "it belongs to an entry of operators",
			"dependencies": "it belongs to an entry of operators",
		},
		check: checkMirror,
	}
}

// The values of an operator's relatedImages.
const (
	RelatedImagesListed   = "listed"
	RelatedImagesComplete = "complete"
)

func operatorObject() object[Operator] {
	return object[Operator]{
		fields: []field[Operator]{
			must(text("catalog", "The catalog: a registry reference with tag or digest, oci://DIR (an OCI layout) or dir://DIR (a folder of file-based catalogs).",
				func(o *Operator) *string { return &o.Catalog }, source(ociScheme, dirScheme))),
			text("targetCatalog", "The catalog's repository path in the mirror.",
				func(o *Operator) *string { return &o.TargetCatalog }, targetPath("targetTag")),
			text("targetTag", "The catalog's tag in the mirror.", func(o *Operator) *string { return &o.TargetTag }, tag().lateIn()),
			text("targetCatalogSourceTemplate", "The path of a CatalogSource manifest to fill in, relative to the working directory.",
				func(o *Operator) *string { return &o.TargetCatalogSourceTemplate }, grammar{}),
			text("targetClusterCatalogTemplate", "The path of a ClusterCatalog manifest to fill in, relative to the working directory.",
				func(o *Operator) *string { return &o.TargetClusterCatalogTemplate }, grammar{}),
			flag("full", "Mirror every bundle of the selected packages and channels instead of the channel heads; without packages, the whole catalog.",
				func(o *Operator) *bool { return &o.Full }),
			text("relatedImages", "The images of bundles to mirror: listed (those in relatedImages; the default), or complete (also those that a bundle uses and does not list).",
				func(o *Operator) *string { return &o.RelatedImages }, oneOf("value", []string{RelatedImagesListed, RelatedImagesComplete}, nil)),
			flag("dependencies", "Add the operators that the selected operators need, from all catalogs of the configuration.",
				func(o *Operator) *bool { return &o.Dependencies }),
			list("installed", "Operators that clusters run: the shortest update paths from them to the channel heads are kept.",
				func(o *Operator) *[]Installed { return &o.Installed }, func(i *Installed) *Position { return &i.Pos }, installedObject()),
			list("platforms", "Mirror only these platforms of every multi-platform image of the catalog.",
				func(o *Operator) *[]Platform { return &o.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			platformsMode(func(o *Operator) *string { return &o.PlatformsMode }),
			list("packages", "The packages to mirror; all if omitted.",
				func(o *Operator) *[]Package { return &o.Packages }, func(p *Package) *Position { return &p.Pos }, packageObject()),
		},
		former: formerOperatorFields(),
		check:  checkOperator,
	}
}

func packageObject() object[Package] {
	return object[Package]{
		fields: []field[Package]{
			must(text("name", "The name of the package.", func(p *Package) *string { return &p.Name }, name())),
			text("defaultChannel", "Replaces the default channel of the package; must be a selected channel.",
				func(p *Package) *string { return &p.DefaultChannel }, name()),
			text("minVersion", "The lowest version to mirror, in every selected channel.",
				func(p *Package) *string { return &p.Range.Min }, minimum()),
			text("maxVersion", "The highest version to mirror, in every selected channel.",
				func(p *Package) *string { return &p.Range.Max }, maximum()),
			list("channels", "The channels to mirror; all if omitted.",
				func(p *Package) *[]Channel { return &p.Channels }, func(c *Channel) *Position { return &c.Pos }, channelObject()),
			list("bundles", "The only bundles to mirror, in every channel that has them; excludes ranges and channels.",
				func(p *Package) *[]Bundle { return &p.Bundles }, func(b *Bundle) *Position { return &b.Pos }, bundleObject()),
		},
		renamed: map[string]string{"startingVersion": "minVersion", "selectedBundles": "bundles"},
		former:  formerRangeFields(func(p *Package) *Range { return &p.Range }),
		check:   checkPackage,
	}
}

func channelObject() object[Channel] {
	return object[Channel]{
		fields: []field[Channel]{
			must(text("name", "The name of the channel.", func(c *Channel) *string { return &c.Name }, name())),
			text("minVersion", "The lowest version of this channel to mirror.", func(c *Channel) *string { return &c.Range.Min }, minimum()),
			text("maxVersion", "The highest version of this channel to mirror.", func(c *Channel) *string { return &c.Range.Max }, maximum()),
		},
		renamed: map[string]string{"startingVersion": "minVersion"},
		former:  formerRangeFields(func(c *Channel) *Range { return &c.Range }),
		check:   func(r *reader, path string, c *Channel) { checkRange(r, path, c.Range) },
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
			must(text("package", "The package of the operator; must be selected.", func(i *Installed) *string { return &i.Package }, name())),
			text("bundle", "The name of the ClusterServiceVersion, such as foo.v1.2.3.", func(i *Installed) *string { return &i.Bundle }, name()),
			text("version", "The installed version; bundle or version is required.", func(i *Installed) *string { return &i.Version }, version()),
			text("channel", "The channel that the cluster follows; any if omitted.", func(i *Installed) *string { return &i.Channel }, name()),
		},
		check: checkInstalled,
	}
}

func imageObject() object[Image] {
	return object[Image]{
		fields: []field[Image]{
			must(text("name", "The image: a registry reference with tag or digest, or oci://DIR (an OCI layout); with tags, a repository.",
				func(i *Image) *string { return &i.Name }, source(ociScheme))),
			option("tags", "Mirror the tags of the repository that meet all of these conditions.", func(i *Image) **TagRule { return &i.Tags },
				func(t *TagRule) *Position { return &t.Pos }, tagRuleObject()),
			text("targetRepo", "The image's repository path in the mirror.",
				func(i *Image) *string { return &i.TargetRepo }, targetPath("targetTag").lateIn()),
			text("targetTag", "The image's tag in the mirror.", func(i *Image) *string { return &i.TargetTag }, tag().lateIn()),
			list("platforms", "Mirror only these platforms of a multi-platform image.",
				func(i *Image) *[]Platform { return &i.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			platformsMode(func(i *Image) *string { return &i.PlatformsMode }),
		},
		check: func(r *reader, path string, i *Image) {
			i.Platforms = checkPlatforms(r, path, i.Platforms)
			checkPlatformsMode(r, path, i.PlatformsMode, i.Platforms)
			if !checkTags(r, path, i) {
				checkIdentifier(r, join(path, "name"), i.Name)
			}
		},
	}
}

func sampleObject() object[Sample] {
	return object[Sample]{fields: []field[Sample]{
		must(text("name", "The name of an image stream, such as ruby; * matches any text, ? one character.",
			func(s *Sample) *string { return &s.Name }, grammar{})),
	}}
}

func blockedObject() object[Blocked] {
	return object[Blocked]{
		fields: []field[Blocked]{
			must(text("name", "A Go regular expression, unanchored, that matches image references.",
				func(b *Blocked) *string { return &b.Name }, expression())),
		},
		removed: map[string]string{"regex": "supported fields: name"},
		check: func(_ *reader, _ string, b *Blocked) {
			if p, err := regexp.Compile(b.Name); err == nil {
				b.Pattern = p
			}
		},
	}
}

// Schema returns the JSON Schema (draft 2020-12) of the configuration, for editors and for pipelines
// that check files without running Gantry. It is generated from the table that Parse uses and
// accepts every file that Parse reads without warnings, except for YAML's own additions (merge keys,
// yes and no). Rules between fields are not part of it. Parse reads more, such as fields of earlier
// formats, with warnings; Convert writes such files so that the schema accepts them.
func Schema() []byte {
	return schemaOf(configObject().shape(), Kind, "What Gantry mirrors: "+APIVersion+".")
}
