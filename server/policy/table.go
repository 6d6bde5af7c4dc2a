package policy

// Row is who may call a procedure at all. What of it is theirs is judged in
// the verb's own transaction.
type Row struct {
	Kinds []Kind
	// Verified: the person has to be present (S3) for it; judged in the
	// transaction, since the state of the device decides.
	Verified bool
}

// Table is the authorisation table. A procedure without a row stops the server
// at start, so a new one cannot be reachable by accident.
func Table() map[string]Row {
	people := []Kind{Installation, Probation}
	full := []Kind{Installation}
	agents := []Kind{Agent}
	workers := []Kind{Agent, TaskToken}
	readers := []Kind{Installation, Probation, Agent, TaskToken}
	// The secret in the request is the credential; one that knows who calls
	// besides has lost its way.
	nobody := []Kind{Anonymous}
	const v = "/beckon.v1."
	return map[string]Row{
		v + "AccountService/GetAccount":     {Kinds: people},
		v + "AccountService/UpdateSettings": {Kinds: full},
		// On by whoever can; off is judged in the transaction.
		v + "AccountService/SetKillSwitch": {Kinds: people},

		v + "AddressService/PutAddress": {Kinds: people},
		v + "AddressService/TestPush":   {Kinds: people},

		v + "AgentService/CreateAgent":   {Kinds: full, Verified: true},
		v + "AgentService/LinkAgent":     {Kinds: full, Verified: true},
		v + "AgentService/UnlinkAgent":   {Kinds: full},
		v + "AgentService/ListAgents":    {Kinds: people},
		v + "AgentService/IssueKey":      {Kinds: full, Verified: true},
		v + "AgentService/RevokeKey":     {Kinds: full},
		v + "AgentService/MintTaskToken": {Kinds: agents},

		v + "ArtifactService/PutArtifact":      {Kinds: workers},
		v + "ArtifactService/UploadArtifact":   {Kinds: workers},
		v + "ArtifactService/DownloadArtifact": {Kinds: readers},
		v + "ArtifactService/GetArtifact":      {Kinds: readers},

		v + "AuditService/ListAudit": {Kinds: people},

		v + "DecisionService/RequestDecision":     {Kinds: workers},
		v + "DecisionService/WaitDecision":        {Kinds: workers},
		v + "DecisionService/WithdrawDecision":    {Kinds: workers},
		v + "DecisionService/AnswerDecision":      {Kinds: people},
		v + "DecisionService/GetDecision":         {Kinds: readers},
		v + "DecisionService/AmendDecision":       {Kinds: workers},
		v + "DecisionService/SnoozeDecision":      {Kinds: people},
		v + "DecisionService/DenyAllOpen":         {Kinds: people},
		v + "DecisionService/PreviewEdit":         {Kinds: people},
		v + "DecisionService/AcknowledgeDecision": {Kinds: people},

		v + "DecisionService/RevokeGrant": {Kinds: people},

		v + "DraftService/SetDraft": {Kinds: people},
		v + "DraftService/SetView":  {Kinds: people},

		v + "EffectService/BeginEffect":    {Kinds: workers},
		v + "EffectService/ConfirmEffect":  {Kinds: workers},
		v + "EffectService/ReportEvidence": {Kinds: workers},
		v + "EffectService/GetEffect":      {Kinds: readers},
		v + "EffectService/ListEffects":    {Kinds: readers},

		v + "DeliveryService/ListDeliveries": {Kinds: people},

		v + "InstallationService/PutInstallation":    {Kinds: people},
		v + "InstallationService/ListInstallations":  {Kinds: people},
		v + "InstallationService/RevokeInstallation": {Kinds: people},
		v + "InstallationService/ReportPresence":     {Kinds: people},

		v + "ItemService/AppendItems": {Kinds: workers},
		v + "ItemService/ListItems":   {Kinds: readers},

		v + "PairingService/ClaimServer":    {Kinds: nobody},
		v + "PairingService/OfferPairing":   {Kinds: full, Verified: true},
		v + "PairingService/RedeemPairing":  {Kinds: nobody},
		v + "PairingService/ConfirmPairing": {Kinds: full, Verified: true},
		v + "PairingService/GetPairing":     {Kinds: []Kind{Anonymous, Installation}},
		v + "PairingService/RequestUnlock":  {Kinds: full},
		v + "PairingService/UnlockTerminal": {Kinds: full, Verified: true},

		v + "SyncService/Bootstrap": {Kinds: people},
		v + "SyncService/Pull":      {Kinds: people},
		v + "SyncService/Watch":     {Kinds: people},
		v + "SyncService/Point":     {Kinds: people},
		// What a mutation does has to be allowed by the row of its own call.
		v + "SyncService/Mutate": {Kinds: people},

		v + "TaskService/CreateTask":     {Kinds: []Kind{Installation, Probation, Agent}},
		v + "TaskService/ClaimTask":      {Kinds: agents},
		v + "TaskService/Heartbeat":      {Kinds: workers},
		v + "TaskService/SaveCheckpoint": {Kinds: workers},
		v + "TaskService/YieldTask":      {Kinds: workers},
		v + "TaskService/ReleaseTask":    {Kinds: workers},
		v + "TaskService/AckSignals":     {Kinds: workers},
		v + "TaskService/UpdateProgress": {Kinds: workers},
		v + "TaskService/CompleteTask":   {Kinds: workers},
		v + "TaskService/FailTask":       {Kinds: workers},
		v + "TaskService/PauseTask":      {Kinds: people},
		v + "TaskService/ResumeTask":     {Kinds: people},
		v + "TaskService/StopTask":       {Kinds: people},
		v + "TaskService/GetTask":        {Kinds: readers},

		v + "ThreadService/GetThread":     {Kinds: readers},
		v + "ThreadService/SendMessage":   {Kinds: people},
		v + "ThreadService/MarkRead":      {Kinds: people},
		v + "ThreadService/ArchiveThread": {Kinds: people},
		v + "ThreadService/ListThreads":   {Kinds: people},

		v + "TimerService/SetTimer":    {Kinds: workers},
		v + "TimerService/CancelTimer": {Kinds: workers},
		v + "TimerService/ListTimers":  {Kinds: readers},

		v + "TokenService/RefreshToken": {Kinds: nobody},
		v + "TokenService/Elevate":      {Kinds: full},
	}
}
