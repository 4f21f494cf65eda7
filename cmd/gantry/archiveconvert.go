package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/foreign"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/archive"
)

func (a *app) archiveConvertCommand() *cobra.Command {
	var o foreign.ConvertArchiveOptions
	var sign signFlags
	var encrypt encryptFlags
	c := &cobra.Command{
		Use:   "convert file://DIR... --to DIR",
		Short: "Make an archive of archives that oc mirror wrote",
		Long: `Read archives of oc mirror, version 2 (mirror_000001.tar and so on), and write an archive
with their images, under the names that oc mirror gives them in a mirror, to the folder
--to. gantry mirror --from imports it. No registry is needed.

Name the folders of several archives oldest first: each has only the blobs that earlier
ones do not have. Instead of earlier ones, name the cache of oc mirror at the site (its
--cache-dir), which has what was imported. Of images that no folder has completely, the
names are printed, the others are converted, and the command ends with 3.

What the archives do not tell is in the notes of the plan, which the command prints.

` + exitCodes(map[int]string{
			exitPartial:  "images are incomplete; the archive has the others",
			exitMismatch: "a file of oc mirror is damaged, or nothing is complete",
			exitNoSpace:  helpNoSpace,
		}),
		Example: `  gantry archive convert file:///media/disk --to /srv/converted
  gantry archive convert file:///media/october file:///media/november --to /srv/converted
  gantry archive convert file:///home/ops file:///media/november --to /srv/converted   # with the cache
  gantry mirror --from file:///srv/converted docker://mirror.example.com:5000/ocp`,
		Args: cobra.MinimumNArgs(1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.To == "" {
			return usageHint("name a folder with --to", "no folder for the archive")
		}
		sign.stdin, o.Folders, o.Env = cmd.InOrStdin(), args, a.environment(&a.offline)
		if o.SigningKey, err = a.signKey(cmd.Context(), sign); err != nil {
			return err
		}
		if o.EncryptTo, err = a.encryption(&encrypt); err != nil {
			return err
		}
		result, err := foreign.ConvertArchive(cmd.Context(), o)
		return show(a, result, err, view.ConvertedArchive)
	}
	c.Flags().StringVar(&o.To, "to", "", "folder that the archive is written to")
	c.Flags().StringVar(&o.Name, "name", foreign.ConvertedName, "name of the series of archives")
	parsedFlag(c.Flags(), &o.VolumeSize, "volume-size", "string", "", optional(archive.ParseVolumeSize), "maximum size of volumes: 4GiB, 4.7GB, cd, fat32, dvd, dvd-dl, bd or bd-dl")
	sign.addFlags(c.Flags(), "sign the archive")
	encrypt.addFlags(c.Flags())
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}
