"""Options of a Salt master and a Salt minion that are not options here, each with the reason. One table for both.

Read by `minion.config.settings` and `controller.config.settings` for options that they do not know themselves, so that
an option that is built need not be taken out here at once, and by `tools.docs.salt_options_table`, which writes the
table of docs/configuration.md. What is in `NEEDLESS` is accepted: nothing is lost without it. What is in `LACKING` is
not built, and what it asks for would be missed: the controller refuses it there, the minion warns.

Source of the names: DEFAULT_MASTER_OPTS, DEFAULT_MINION_OPTS and VALID_OPTS of salt/config/__init__.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from options.near_names import did_you_mean


class SaltOption(NamedTuple):
    """Why an option of Salt's is none here."""

    reason: str
    lacking: bool


NEEDLESS: tuple[tuple[str, str], ...] = (
    (
        "the controller is one process with an event loop; compile_workers is the number of its compile processes",
        """worker_threads worker_pools worker_pools_enabled master_async_mworker master_mworker_max_inflight
        loop_interval maintenance_interval multiprocessing process_count_max modules_max_memory
        event_publisher_niceness event_return_niceness fileserver_update_niceness maintenance_niceness
        mworker_niceness mworker_queue_niceness pub_server_niceness req_server_niceness reactor_niceness
        reactor_worker_threads reactor_worker_hwm max_open_files minion_jid_queue_hwm""",
    ),
    (
        "the controller reads it (docs/access.md); on a minion it means nothing",
        "publisher_acl publisher_acl_blacklist external_auth permissive_acl token_expire peer peer_run",
    ),
    ("the controller reads it, and a minion sends files (`cp.push`) all the same", "file_recv file_recv_max_size"),
    ("metrics are served for Prometheus (docs/metrics.md)", "master_stats master_stats_event_iter metrics tracing"),
    (
        "every connection is encrypted and authenticated by CURVE, in both directions",
        """sign_pub_messages master_sign_pubkey master_sign_key_name master_pubkey_signature
        master_use_pubkey_signature verify_master_pubkey_sign always_verify_signature require_minion_sign_messages
        minion_sign_messages keysize drop_messages_signature_fail rotate_aes_key ping_on_rotate publish_session
        request_server_ttl auth_mode request_server_aes_session minimum_auth_version disable_aes_with_tls ssl
        signing_key_pass key_pass publish_signing_algorithm signing_algorithm encryption_algorithm auth_safemode
        dummy_pub""",
    ),
    ("fingerprints and digests are SHA-256", "hash_type"),
    (
        "the wire is ZeroMQ with signs of life of its own; what waits at each border is bounded by `limits`",
        """ipc_mode ipc_write_buffer sock_pool_size pub_hwm zmq_backlog zmq_filtering zmq_monitor tcp_keepalive
        tcp_keepalive_cnt tcp_keepalive_idle tcp_keepalive_intvl tcp_master_pub_port tcp_master_publish_pull
        tcp_master_pull_port tcp_master_workers tcp_pub_port tcp_pull_port tcp_authentication_retries
        tcp_reconnect_backoff pub_server_write_queue_size publish_drain_timeout max_event_size detect_remote_minions
        remote_minions_port ping_interval event_match_type""",
    ),
    (
        "an agent connects again by itself, with pauses that grow and are drawn by chance",
        """acceptance_wait_time acceptance_wait_time_max auth_retries auth_timeout auth_tries
        random_reauth_delay random_startup_delay recon_default recon_max recon_randomize rejected_retry
        bootstrap_delay request_channel_timeout request_channel_tries restart_on_error syndic_retries
        resolve_dns_fallback rest_timeout""",
    ),
    (
        "a result is kept on the minion's disk until the controller has stored it, and sent again until then",
        "return_retry_timer return_retry_timer_max return_retry_tries cache_jobs pub_ret",
    ),
    (
        "grains, keys, jobs and results are in the store (`store_url`)",
        """minion_data_cache minion_data_cache_events preserve_minion_cache memcache_debug memcache_expire_seconds
        memcache_full_cleanup memcache_max_items con_cache key_cache keys.cache_driver pillar.cache_driver cache
        job_cache job_cache_store_endtime archive_jobs cache_sreqs enforce_mine_cache sqlite_queue_dir
        eauth_tokens.cache_driver""",
    ),
    ("the history of jobs is kept as long as keep_runs says", "keep_jobs keep_jobs_seconds"),
    (
        "a compile is found again by all that it read (docs/adr/0010)",
        "pillar_cache pillar_cache_backend gpg_cache gpg_cache_backend gpg_cache_ttl optimization_order cython_enable",
    ),
    (
        "git is fetched when it changes, and folders are read at each compile",
        """hgfs_update_interval svnfs_update_interval s3fs_update_interval minionfs_update_interval
        roots_update_interval fileserver_interval fileserver_verify_config file_buffer_size
        fileserver_ignoresymlinks fileserver_followsymlinks clean_dynamic_modules autoload_dynamic_modules
        reactor_refresh_interval""",
    ),
    (
        "trees come from git, and folders; `fileserver_backend` refuses the others",
        """hgfs_base hgfs_branch_method hgfs_mountpoint hgfs_remotes hgfs_root hgfs_saltenv_blacklist
        hgfs_saltenv_whitelist svnfs_branches svnfs_mountpoint svnfs_remotes svnfs_root svnfs_saltenv_blacklist
        svnfs_saltenv_whitelist svnfs_tags svnfs_trunk minionfs_blacklist minionfs_env minionfs_mountpoint
        minionfs_whitelist master_roots""",
    ),
    (
        "controllers of one database are one, with one key (docs/several-controllers.md)",
        """cluster_mode cluster_auto_replace_voters cluster_demote_cooldown cluster_encryption_algorithm cluster_id
        cluster_isolated_filesystem cluster_key_pass cluster_max_log_size cluster_max_voters cluster_min_voters
        cluster_peers cluster_pki_dir cluster_pub_fingerprint cluster_secret
        cluster_voter_health_check_interval cluster_voter_timeout eauth_tokens.cluster_id""",
    ),
    (
        "`saltern ssh` has nothing of it (docs/ssh.md)",
        """ssh_keepalive ssh_keepalive_count_max ssh_keepalive_interval
        ssh_list_nodegroups ssh_log_file ssh_scan_ports ssh_scan_timeout
        ssh_use_home_key ssh_merge_pillar regen_thin
        thin_exclude_saltexts thin_extra_mods thin_saltext_allowlist thin_saltext_blocklist min_extra_mods
        enable_ssh_minions""",
    ),
    (
        "there is no salt-proxy",
        """add_proxymodule_to_opts proxy_always_alive proxy_deep_merge_pillar_in_opts proxy_keep_alive
        proxy_keep_alive_interval proxy_merge_grains_in_module proxy_merge_pillar_in_opts
        proxy_merge_pillar_in_opts_strategy proxy_mines_pillar""",
    ),
    (
        "minions run on Linux",
        """winrepo_branch winrepo_cachefile winrepo_depth winrepo_dir winrepo_dir_ng winrepo_fallback
        winrepo_insecure_auth winrepo_passphrase winrepo_password winrepo_privkey winrepo_proxy winrepo_pubkey
        winrepo_refspecs winrepo_remotes winrepo_remotes_ng winrepo_ssl_verify winrepo_user winrepo_source_dir
        winrepo_cache_expire_max winrepo_cache_expire_min winrepo_installer_cache_expire use_os_truststore""",
    ),
    ("`rules` hold what Thorium is for (docs/reactors.md)", "thorium_interval thorium_roots thorium_top thoriumenv"),
    (
        "the log goes to standard error, each line in one form; systemd keeps and rotates it",
        """log_datefmt log_datefmt_logfile log_fmt_console log_fmt_jid log_fmt_logfile log_fmt_minion_id
        log_granular_levels log_rotate_backup_count log_rotate_max_bytes key_logfile syndic_log_file log_file
        log_level_logfile""",
    ),
    (
        "the unit of systemd says which user a process runs as, and knows the process",
        "user sudo_user pidfile syndic_pidfile verify_env umask",
    ),
    (
        "it is said where a command is given (`saltern run --help`)",
        "timeout gather_job_timeout publish_timeout show_timeout show_jid cli_summary",
    ),
    (
        "how states are run and shown is read of the minion's configuration, and of the state itself",
        """failhard state_aggregate state_events state_max_parallel state_output state_output_diff state_output_profile
        state_verbose state_output_pct state_compress_ids test""",
    ),
    ("Salt sets it itself", "conf_file local search serial features unique_jid lock_saltenv master_uri_format"),
    ("a problem of pillar shows no values, and a pillar with one is not sent", "pillar_safe_render_error"),
    (
        "it is of older versions of Salt",
        "pillar_version environment_pillar enable_legacy_startup_events mine_return_job",
    ),
    ("every process of Saltern finds its parts by itself", "discovery ipv6 append_minionid_config_dirs"),
    (
        "tokens and users of the system are known to the controller itself",
        "django_auth_path django_auth_settings eauth_acl_module auth_events auth_events_autosign_grains",
    ),
    ("events of keys are always there (docs/events.md)", "auth_events_pend_autosign_grains"),
    ("modules are found when they are first used", "enable_zip_modules global_state_conditions"),
    ("what is sent at once is bounded by `limits`", "salt_cp_chunk_size"),
    ("grains of graphics cards are read where the minion's configuration says so", "enable_gpu_grains enable_lspci"),
    (
        "no package of Saltern is installed or updated by itself",
        """saltpip_allow_find_links saltpip_disable_pip_version_check saltpip_no_deps saltpip_no_index
        saltpip_use_pythonpath update_url update_restart_services minion_restart_command""",
    ),
    (
        "events go to returners as they come, up to 100 at once, and wait on disk where one fails",
        "event_return_queue event_return_queue_max_seconds",
    ),
    ("Snapper is told by nobody here", "snapper_states_config"),
    (
        "it is an option of the controller",
        """auto_accept reactor event_return event_return_blacklist event_return_whitelist master_job_cache engines
        interface autosign_timeout permissive_pki_access cluster_pool_port range_server
        ssh_config_file ssh_identities_only ssh_passwd ssh_port ssh_priv_passwd ssh_run_pre_flight ssh_sudo
        ssh_sudo_user ssh_timeout
        ssh_user ssh_priv ssh_options ssh_max_procs""",
    ),
    (
        "it is an option of minions: write it into their configuration",
        """backup_mode file_client grains grains_blacklist grains_cache grains_cache_expiration grains_deep_merge
        grains_dirs grains_refresh_every enable_fqdns_grains id master master_alive_interval
        master_failback master_failback_interval master_port master_shuffle master_tries master_type mine_enabled
        mine_interval random_master retry_dns retry_dns_count return
        returner_dirs start_event_grains state_queue states_dirs utils_dirs sock_dir extension_modules
        grains_refresh_pre_exec default_include""",
    ),
    (
        "a controller knows relays by their accepted keys, and waits for nothing of theirs (docs/relay.md)",
        """order_masters syndic_wait syndic_failover syndic_event_forward_timeout syndic_forward_all_events
        syndic_jid_forward_cache_hwm syndic_finger""",
    ),
    (
        "`saltern call --local` reads folders (`file_roots`, `pillar_roots`); git is the controller's",
        "fileserver_backend file_ignore_glob file_ignore_regex pillar_cache_ttl ext_job_cache",
    ),
)
"""(reason, names): accepted, since nothing is lost."""

LACKING: tuple[tuple[str, str], ...] = (
    (
        "publisher_acl, external_auth and api_roles say who may do what (docs/access.md)",
        """client_acl_verify sudo_acl eauth_tokens token_expire_user_override keep_acl_in_token""",
    ),
    ("keys are never taken in place of others without a person; auto_accept accepts new ones", "open_mode"),
    (
        "`saltern relay` stands between a controller and minions, and has a configuration of its own (docs/relay.md)",
        "syndic_master",
    ),
    ("`file_client: local` asks no controller", "use_master_when_local"),
    ("controller_key pins the controller's key; fingerprints are not compared", "master_finger"),
    ("CURVE is no algorithm that FIPS 140 approves", "fips_mode"),
    ("the wire is ZeroMQ", "transport"),
    ("SLS without a shebang are jinja|yaml", "renderer"),
    ("jinja_env and jinja_sls_env have these settings", "jinja_lstrip_blocks jinja_trim_blocks"),
    (
        "the API and salt-api's addresses (docs/salt-api.md) have the options of `api`",
        "netapi_allow_raw_shell netapi_enable_clients rest_cherrypy rest_tornado rest_wsgi",
    ),
    (
        "there is no limit to the number of minions, and minions cannot revoke their keys",
        "max_minions allow_minion_key_revoke",
    ),
    (
        "all modules that there are can be called",
        """disable_modules disable_returners whitelist_modules whitelist_state_modules extmod_whitelist
        extmod_blacklist providers cmd_safe renderer_blacklist renderer_whitelist""",
    ),
    ("folders of modules are those of `module_dirs`", "outputter_dirs runner_dirs render_dirs queue_dirs"),
    ("runners have returners where they are called with some", "runner_returns"),
    (
        "`pass` is not read: sdb, Vault and GPG keep secrets",
        "pass_dir pass_gnupghome pass_strict_fetch pass_variable_prefix",
    ),
    ("a message that cannot be decrypted fails the compile", "gpg_decrypt_must_succeed"),
    (
        "external pillars are those of the controller's configuration",
        "on_demand_ext_pillar pass_to_ext_pillars resource_pillar_key pillar_mask_output",
    ),
    ("encrypted pillar is GPG: decrypt_pillar names its keys", "decrypt_pillar_default decrypt_pillar_renderers"),
    ("a minion applies its document when it starts", "startup_states sls_list top_file"),
    ("a minion's schedule and beacons begin with its agent", "scheduler_before_connect beacons_before_connect"),
    (
        "proxies are those of the environment (http_proxy, no_proxy)",
        "proxy_host proxy_password proxy_port proxy_username no_proxy",
    ),
    (
        "the id is `id`, or the name of the host as it is",
        "id_function minion_id_caching minion_id_lowercase minion_id_remove_domain append_domain",
    ),
    (
        "connections are made from the address that the system chooses",
        "source_address source_interface_name source_publish_port source_ret_port",
    ),
    ("functions of a call are done in their order", "multifunc_ordered"),
    ("saltenv is also the environment of pillar where pillarenv says so", "pillarenv_from_saltenv"),
    ("Snapper takes no snapshots here", "snapper_states"),
    ("http.query has timeouts of its own arguments", "http_connect_timeout http_max_body http_request_timeout"),
    ("a password for the controller's API is no option of a minion", "username password"),
)
"""(reason, names): not built."""

_OF_LOCAL_GIT = ("gitfs_", "git_pillar_")
"""Options of a minion without master in Salt begin so; on the controller they are known."""
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "allow_minion_key_revoke": (True,),
    "client_acl_verify": (True,),
    "cmd_safe": (True,),
    "runner_returns": (True,),
    "transport": ("zeromq",),
    "renderer": ("jinja|yaml", "yaml_jinja", "jinja | yaml"),
    "gpg_decrypt_must_succeed": (True,),
    "eauth_tokens": ("localfs",),
    "netapi_enable_clients": ([],),
    "http_request_timeout": (3600,),
    "http_connect_timeout": (20.0, 20),
    "http_max_body": (107374182400,),
    "minion_id_caching": (True,),
    "syndic_wait": (5,),
    "syndic_failover": ("random",),
    "syndic_event_forward_timeout": (0.5,),
    "syndic_jid_forward_cache_hwm": (100,),
    "syndic_master": ("masterofmasters",),
    "decrypt_pillar_default": ("gpg",),
    "decrypt_pillar_renderers": (["gpg"],),
    "resource_pillar_key": ("resources",),
    "pillar_mask_output": (True,),
}
"""What lacking options say where they ask for nothing: Salt's defaults that are not empty."""


def salt_option(name: str) -> SaltOption | None:
    """Why an option of Salt's is none here; None for a name that Salt does not have either."""
    if name.startswith(_OF_LOCAL_GIT):
        return _TABLE["fileserver_backend"]
    return _TABLE.get(name)


def asks_for_nothing(name: str, value: Any) -> bool:
    """Whether a lacking option has a value that loses nothing: an empty one, or Salt's default."""
    return not value or value in _DEFAULTS.get(name, ())


def said_of(name: str, known: frozenset[str]) -> str:
    """What is to be said of an option that is not known: the reason, or a name that may be meant."""
    option = salt_option(name)
    if option is None:
        return did_you_mean(name, (*known, *_TABLE), cutoff=_LIKENESS)
    return f"it is not built here: {option.reason}" if option.lacking else f"it means nothing here: {option.reason}"


_LIKENESS = 0.85
"""That a hint needs: of names of options that are half alike, most have nothing to do with each other."""
_TABLE: Mapping[str, SaltOption] = {
    name: SaltOption(reason, lacking)
    for table, lacking in ((NEEDLESS, False), (LACKING, True))
    for reason, names in table
    for name in names.split()
}
