// Package decode reads what a vendor's message says beyond its number: it adds
// fields to a signal whose matcher names a decoder in `decode:`. The knowledge is
// in catalog/tables; this package is only grammar.
//
// A decoder adds fields, sets Level where a table decides it, and may set
// Subject.Link. It never changes a field that a matcher's group gave, never
// fails and never panics: a text that it cannot read gets the fields of its number
// alone. Rules of values: words are lower-case tokens (`dram`, `nonfatal`,
// `out_of_range_address`), several are joined by "|", numbers stand as the line
// has them, without leading zeros when decimal and with 0x when the line has 0x.
// Names of programs, functions and mnemonics keep their letters; `where:` ignores
// case. A field is absent when the line does not state it.
//
// # Decoder "xid" (needs fields code, text)
//
// Every code:
//
//	catalogued     yes | no (a number that the tables do not have)
//	mnemonic       NVIDIA's name of the code
//	class          the likeliest class: application driver hardware firmware interconnect
//	               power thermal system informational unused
//	classes        all classes of the table, likeliest first: application|driver|hardware
//	immediate      NVIDIA's immediate bucket: ignore restart_app reset_gpu restart_bm restart_vm
//	               check_mechanicals check_uvm contact_support update_swfw xid_154 workflow_…
//	investigatory  NVIDIA's investigatory bucket, spelled likewise
//	action         id of the action, refined by what the line says (see each code)
//	table_confidence  low where the row rests on a weak or second-hand source
//	caused_by      number of the Xid that the driver itself names as the cause
//	truncated      yes when the text ends inside a group that the driver always closes
//	placeholder    yes when the text holds printf verbs (a format string, not an event)
//
// By code (only when the text says so):
//
//	13   exception       warp | global | esr | graphics | class | shader …
//	     gpc tpc sm      numbers of the unit
//	     exception_kind  out_of_range_address misaligned_address illegal_instruction_encoding
//	                     illegal_instruction_param misaligned_pc misaligned_register
//	                     out_of_range_register invalid_address_space invalid_const_address
//	                     stack_error api_stack_error bpt_pause bpt_int bpt_trap single_step
//	                     mmu_fault mmu_nack geometry_sm_error divergent wrap_fault pc_wrap
//	                     pc_overflow illegal_sph cta_error l1_error illegal_rtt tc_fault
//	                     multiple_warp_errors physical_stack_overflow shader_program_header …
//	     esr             the ESR words as the line has them
//	     channel class_id offset data  from "ChID …, Class …, Offset …, Data …"
//	31   engine          graphics ce0 host0 nvdec0 … ;  engine_unit gpc0 hub … ;  client gpcclient_t1_0
//	     address         faulting address, 0x…
//	     fault_type      pde pte va_limit priv_violation ro_violation wo_violation atomic_violation
//	                     unbound_inst_block unsupported_aperture compression_failure poisoned …
//	     access_type     read write atomic prefetch (with phys_ or virt_ kept in access_space)
//	     access_space    virt | phys
//	8 31 32 39 40 41 43 44 45 46 68…72 109   channel, intr, error_text (ctx_switch_timeout …), info
//	48   location        dram | sram ; unit (framebuffer, l2, sm, …) ; partition subpartition address
//	54   detail          power_cable
//	62   status_words     hex words that only the vendor can read
//	63 64 160 161 177    detail (below), address, bank, what (row|page|bank|channel|lts|tpc), index
//	     63  row_remap_new page_retired bank_remap_new row_remap_pending
//	     64  table_full bank_exhausted no_spare hw_limit reserved_row internal inforom_write
//	         inforom_full already_pending disabled address_error page_retire_failed
//	         page_already_retired row_remap_failed unknown
//	     64 161  detail_class  exhausted | pending | recording | unknown
//	     64  reason          the words after "DRAM Retirement failed due to"
//	     160 lts_repair_new channel_repair_new ; 161 no_spare
//	74   link, severity fatal|nonfatal, nvlink_detail fatal|nonfatal|train_failed|minion,
//	     registers (seven words), nvlink_verdict ignore secondary ecc_parity hw_possible
//	     weak_signal repeat_report fabric_reset ecc_threshold unexpected unlisted (the strongest of
//	     all set bits), bits (register.bit:verdict|…, registers counted from 1),
//	     peer (PCI address of the remote end)
//	78   detail          driver_incompatible | type_unsupported
//	79   detail          fell_off
//	92   detail          interrupts_disabled | sm_storm | high_rate ; partition
//	94 95  containment contained|uncontained ; unit dram l2 sm gcc mmu pcie ce ctxsw … ;
//	     location_numbers, address, rst yes|no, drst yes|no ; location dram|sram
//	119 175  timeout_s function function_name rm_gpu gsp_instance rpc_data history yes
//	120  detail          crash | task_exception | task_error | init_failed ; task exception cause pc
//	                     rm_gpu partition ; error_code reason (of task_error)
//	121 173  link
//	136  links           numbers of the links, joined by "|"
//	137  engine client address fault_type access_type as 31 ; unit link rm_gpu detail (priv_error)
//	140  dram ltc mmu pcie  counts; units the units with a count above zero, joined by "|"
//	143  status          boot status word ; status_words
//	144…150  unit (saw_mvb rlw_src_track netir_link_evt …), severity fatal|nonfatal|link_fatal,
//	     xc (0|1: confined to other GPUs), injected yes|no, link, intrinfo, errstatus,
//	     debug (the other words), subcode, layout pre_r575|r575|both, subunit, decoded yes|no|ambiguous,
//	     link_down_reason (21), link_down_text (peer_down_unknown …), local remote (effect),
//	     origin hw|sw|hw_sw|fw ; immediate, investigatory and action then come from the decode table.
//	     A field driver_version ("570.124.06"), when there, decides the layout; else both are tried
//	154  recovery_from recovery (none|reset|reboot|drain_p2p|drain_reset|recover_imex), from to (numbers),
//	     action ; level fact when recovery is none
//	156 157  tpc gpc spare same_gpc|other_gpc|none
//	160 161  what channel|lts, index, place, pair, activate (what activates it)
//	171 172  location dram|sram, address and unit as 48
//
// rm_gpu is the resource manager's instance number ("GPU3 GSP"): it is not the
// index of nvidia-smi, so it never becomes Subject.GPU.Index.
//
// # Decoder "sxid" (needs code, text; uses severity and link when the matcher has them)
//
//	severity   fatal | nonfatal | correctable, as the line prints it
//	fatality   the judgement: the line's word when it has one, else the table's: always_fatal
//	           potentially_fatal fatal nonfatal depends_containment depends_chip not_stated unknown
//	table_fatality  the table's alone
//	name       NVIDIA's name ; unit host ingress egress nvlink_dlpl soe … ; link ; action ; catalogued
//	recovery   ignore watch check_link restart_jobs check_config cooling module power_cycle reset_all
//	           reboot unknown
//	first      yes when the line says (First) ; reason text after the link
//
// # Decoder "rminit" (needs stage, status)
//
//	stage_name status_name (lower case, without NV_ERR_) stage_phase class classes action catalogued
//	hint       gpu_lost power stale_state memory timeout reset_required unsupported version … of the status
//
// # Decoder "aer" (needs severity or text; uses status, mask, bit_names)
//
//	severity corrected|nonfatal|fatal ; bits rxerr|badtlp|… ; masked (bits set but masked) ;
//	layer physical|data_link|transaction ; agent receiver|transmitter|requester|completer ;
//	aer_hint link_quality|surprise_down|completion_timeout|
//	         completion_abort|poison|noise|config|internal (that of the first error, else the
//	         strongest of the bits) ;
//	first    the bit that the record marks as "(First)"
//
// # Decoder "cuda" (needs one of number, symbol, text; uses api = runtime|driver)
//
//	number symbol symbol_driver symbol_runtime class sticky yes|no|maybe
//	era current|legacy (runtime numbers before CUDA 10.1) action
//
// # Decoder "nvml" (needs one of number, symbol, text)
//
//	number symbol class action
//
// # Decoder "nccl" (each step needs its own field; serves NCCL, Gloo and rendezvous)
//
//	peer        → peer_host peer_port ; peer_class loopback docker link_local private public
//	              unspecified name (what kind of address that is)
//	error       → reason refused timed_out no_route unreachable reset aborted in_use no_address
//	              no_memory no_space denied invalid no_data absent no_descriptor in_progress other
//	interface ip → net_class loopback docker virtual vpn management link_local ordinary
//	gid_prefix gid_suffix (packed words), local_gid or gid → gid_class link_local ipv4 ipv6 zero
//	              zero_prefix
//	version1 version2 → version1_text version2_text (21805 is 2.18.5)
//
// # Decoder "collective" (process groups)
//
//	timeout_ms ran_ms waited_ms → timeout_s ran_s waited_s ; op_name → op
//	numel_in      → scalar yes for 0 or 1 element (a barrier or flag)
//	last_enqueued last_completed → pending ; late yes when nothing is under way on this rank
//	              while others wait, no when it waits itself ; first_collective yes when none
//	              has ever ended
//
// # Decoder "exit" (one of exitcode, code, signum, word)
//
//	signal  sigkill sigabrt sigsegv sigbus sigterm … ; absent for a plain exit code
//	how     exit | killed (from outside) | crash
//
// # Decoder "count" (needs fields found, expected)
//
//	relation   low | ok | unknown; only low is abnormal
package decode
