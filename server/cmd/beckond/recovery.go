package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/admin"
)

type backupCommand struct {
	To string `arg:"" help:"Folder in which the backup becomes a folder of its own." type:"path"`

	JSON bool `help:"Print JSON." name:"json"`
}

// Run asks the running server for a backup, or makes it where none runs.
func (k backupCommand) Run(c call) error {
	to, err := filepath.Abs(k.To)
	if err != nil {
		return err
	}
	a := admin.Dial(c.config.Socket())
	defer a.Close()
	made, err := a.Backup(c.ctx, to)
	if errors.Is(err, admin.ErrNobody) {
		made, err = server.Backup(c.ctx, c.config, to)
	}
	if err != nil {
		return err
	}
	for _, name := range made.Damaged {
		_, _ = fmt.Fprintf(c.err, "beckond: %s was damaged before it was copied\n", name) // the backup stands all the same
	}
	if k.JSON {
		return json.NewEncoder(c.out).Encode(made)
	}
	_, err = fmt.Fprintf(c.out, "%s\n\n%d files, %d bytes, verified. master.key is not in it: keep a copy of that apart.\n", made.Path, made.Files, made.Bytes)
	return err
}

type restoreCommand struct {
	From string `arg:"" help:"The backup: a folder made by beckond backup." type:"existingdir"`

	JournalLost bool `help:"There is no journal any more: what was revoked since the backup is good again." name:"journal-lost"`
}

// Run puts a backup into the data folder.
func (k restoreCommand) Run(c call) error {
	out, err := server.Restore(c.ctx, c.config, k.From, k.JournalLost)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "Restored as of %s, in epoch %d. Start the server: tasks that were alive are held until their people say that they may go on.\n",
		out.Manifest.Time.Format("2006-01-02 15:04:05 UTC"), out.State.Number)
	return err
}

type epochCommand struct {
	New epochNewCommand `cmd:"" help:"Begin a history, after the data folder was taken back by other means. The server must not run."`
}

type epochNewCommand struct {
	ResetAll bool `help:"Reset every device, for a folder that a server has written to since." name:"reset-all"`
}

// Run begins an epoch.
func (k epochNewCommand) Run(c call) error {
	state, err := server.NewEpoch(c.ctx, c.config, k.ResetAll)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "Epoch %d begins. Start the server: tasks that were alive are held until their people say that they may go on.\n", state.Number)
	return err
}
