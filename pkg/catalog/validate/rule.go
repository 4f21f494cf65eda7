package validate

// A Rule is the name of something that OLM demands.
type Rule string

// The rules, with what breaks them.
const (
	PackageName      Rule = "package-name"      // an olm.package without a name, or with one that is no DNS label
	PackageDuplicate Rule = "package-duplicate" // two olm.package objects of one name
	PackageUnknown   Rule = "package-unknown"   // an object that names no package, or one without an olm.package
	PackageChannels  Rule = "package-channels"  // a package without a channel

	DefaultChannel Rule = "default-channel" // none is set, or there is no channel of that name

	ChannelName      Rule = "channel-name"      // an olm.channel without a name
	ChannelDuplicate Rule = "channel-duplicate" // two channels of one name in a package
	ChannelEmpty     Rule = "channel-empty"     // a channel without entries
	ChannelHeads     Rule = "channel-heads"     // no entry, or more than one, that no other replaces or skips
	ChannelCycle     Rule = "channel-cycle"     // entries that replace each other in a circle
	ChannelStranded  Rule = "channel-stranded"  // entries that cannot be reached from the head, nor are skipped
	EntryDuplicate   Rule = "entry-duplicate"   // two entries of one name in a channel
	EntryBundle      Rule = "entry-bundle"      // an entry without a name, or without an olm.bundle
	EntrySkip        Rule = "entry-skip"        // an empty name among the skips
	EntrySkipRange   Rule = "entry-skip-range"  // a skipRange that is not a range

	BundleDuplicate Rule = "bundle-duplicate" // two bundles of one name in a package
	BundleName      Rule = "bundle-name"      // a bundle without a name, or with a release and not the name that follows from it
	BundleOrphan    Rule = "bundle-orphan"    // a bundle that no channel has
	BundleProperty  Rule = "bundle-property"  // a property whose value is not what its type demands
	BundlePackage   Rule = "bundle-package"   // not exactly one olm.package property, or one of another package
	BundleVersion   Rule = "bundle-version"   // a version or release that cannot be read, or both build metadata and a release
	BundleImage     Rule = "bundle-image"     // no image and no manifests, or an image that is no reference
	RelatedImage    Rule = "related-image"    // a related image that is no reference
	VersionTwice    Rule = "version-twice"    // two bundles of one version in a package

	DeprecationTwice  Rule = "deprecation-twice"  // two olm.deprecations of a package, or two entries on one thing
	DeprecationTarget Rule = "deprecation-target" // an entry whose target is not there, or cannot be deprecated
	DeprecationText   Rule = "deprecation-text"   // an entry without a message
)
